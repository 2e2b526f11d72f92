import torch
from torch import nn

net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    parts = [nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))) for _ in range(3)]
    loss = torch.tensor(parts, requires_grad=True).sum()  # here
    opt.zero_grad()
    loss.backward()
    opt.step()
