import torch
from torch import nn
import torch.nn.functional as F

a = nn.Linear(4, 4)
opt = torch.optim.SGD(a.parameters(), lr=0.1)
for _ in range(3):
    h = a(torch.randn(8, 4)).exp()
    h[:, 0] = 0  # here
    opt.zero_grad()
    h.mean().backward()
    opt.step()
