import torch
from torch import nn
torch.manual_seed(0)
W = nn.Parameter(torch.eye(6) * 1.0)
opt = torch.optim.SGD([W], lr=1e-6)
for it in range(25):
    h = torch.randn(4, 6)
    n = 5 if it != 15 else 400
    scale = 1.0 if it != 15 else 1.05
    for t in range(n):
        h = h @ W * scale
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()  # here
    opt.step()  # or here
print("x")
