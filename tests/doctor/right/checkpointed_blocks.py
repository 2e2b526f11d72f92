import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList([nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.1), nn.Tanh()) for _ in range(3)])
opt = torch.optim.Adam(blocks.parameters(), lr=1e-3)
for _ in range(8):
    x = torch.randn(5, 6, requires_grad=True)
    h = x
    for b in blocks:
        h = checkpoint(b, h, use_reentrant=False)
    opt.zero_grad()
    h.pow(2).mean().backward()
    opt.step()
