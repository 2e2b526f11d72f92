import torch
from torch import nn


class Config:
    def __init__(self):
        self.require_grad = False
        self.requires_grads = True


config = Config()
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    optimizer.step()
