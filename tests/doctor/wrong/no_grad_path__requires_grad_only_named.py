import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).requires_grad_(False)
image = torch.randn(1, 4)
image.requires_grad_  # here
for i in range(4):
    loss = net(image).sum()
    loss.backward()
