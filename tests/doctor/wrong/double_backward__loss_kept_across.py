import torch
from torch import nn

net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
penalty = sum(p.pow(2).sum() for p in net.parameters())  # here
for i in range(4):
    loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))) + 1e-3 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
