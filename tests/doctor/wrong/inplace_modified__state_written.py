import torch
from torch import nn

torch.manual_seed(0)
cell, out = nn.Linear(5, 4), nn.Linear(4, 1)
h = torch.zeros(6, 4)
x = torch.randn(6, 1)
loss = 0
for t in range(5):
    new = torch.tanh(cell(torch.cat([x[t].expand(1), h[t].clone()]))) if t else torch.tanh(cell(torch.zeros(5)))
    h[t] = new
    loss = loss + (h[: t + 1] ** 2).sum()  # or here
    h[0] = h[0] + 1  # here
loss.backward()  # or here
