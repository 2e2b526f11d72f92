import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


def attack(x, y, eps=0.1):
    x = x.clone().requires_grad_()
    nn.functional.cross_entropy(net(x), y).backward()
    with torch.no_grad():
        x = x + eps * x.grad.sign()
    return x


hard = attack(torch.randn(8, 4), torch.zeros(8, dtype=torch.long))
for step in range(12):
    x, y = (hard, torch.zeros(8, dtype=torch.long)) if step % 3 == 0 else (torch.randn(8, 4), torch.randint(0, 2, (8,)))
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
