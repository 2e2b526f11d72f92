import torch
from torch import nn

net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def epoch(n):
    for _ in range(n):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


epoch(10)
with torch.no_grad():  # here
    print(net(torch.randn(8, 4)).argmax(1).sum().item() >= 0)
    epoch(10)
