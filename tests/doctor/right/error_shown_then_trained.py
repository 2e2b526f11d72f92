"""A lesson: the error is provoked on purpose, caught outside of its loop, and the training follows."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
loss = net(torch.randn(4, 3)).pow(2).mean()
try:
    for _ in range(2):
        loss.backward()
except RuntimeError as error:
    print("as expected:", type(error).__name__)
net.zero_grad()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    opt.zero_grad()
    net(torch.randn(4, 3)).pow(2).mean().backward()
    opt.step()
