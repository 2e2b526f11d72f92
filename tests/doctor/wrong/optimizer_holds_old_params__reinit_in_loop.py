import torch
from torch import nn


def make():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 1))


torch.manual_seed(0)
model = make()
opt = torch.optim.SGD(model.parameters(), lr=0.1)  # or here
model = make()  # here
for _ in range(6):
    x = torch.randn(7, 4)
    opt.zero_grad()
    model.zero_grad()
    (model(x) - 1).pow(2).mean().backward()
    opt.step()  # or here
