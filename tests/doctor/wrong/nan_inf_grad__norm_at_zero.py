import torch
from torch import nn

e = nn.Embedding(5, 3)
nn.init.zeros_(e.weight)
opt = torch.optim.SGD(e.parameters(), lr=0.1)
for i in range(3):
    v = e(torch.tensor([0, 1]))
    d = (v[0] - v[1]).pow(2).sum().sqrt()  # here
    loss = d + e.weight.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
