import torch
from torch import nn

net = nn.Linear(6, 2)
for _ in range(8):
    x = torch.randn(16, 6)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    net.zero_grad()
    loss.backward()
    for p in net.parameters():
        p = p - 0.1 * p.grad  # here
