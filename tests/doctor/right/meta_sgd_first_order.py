"""Learned rates of an inner loop, of first order by choice."""

import torch
from torch import nn

torch.manual_seed(0)
w = nn.Parameter(torch.randn(3, 1))
rate = nn.Parameter(torch.full((3, 1), 0.1))
meta = torch.optim.SGD([w, rate], lr=1e-2)
for _ in range(8):
    x, y = torch.randn(20, 3), torch.randn(20, 1)
    inner = (x[:10] @ w - y[:10]).pow(2).mean()
    (g,) = torch.autograd.grad(inner, [w], create_graph=False)
    outer = (x[10:] @ (w - rate * g) - y[10:]).pow(2).mean()
    meta.zero_grad()
    outer.backward()
    meta.step()
