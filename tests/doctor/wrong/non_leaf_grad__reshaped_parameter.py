import torch
from torch import nn

torch.manual_seed(0)
w = nn.Parameter(torch.randn(6)).view(2, 3)  # here
x = torch.randn(3, 4)
for _ in range(3):
    (w @ x).sum().backward()
    g = w.grad  # or here
    if g is None:
        print("no gradient")
        break
