import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

a, b = nn.Linear(4, 8), nn.Linear(8, 1)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
for _ in range(5):
    x = torch.randn(8, 4)
    h = checkpoint(lambda t: a(t).relu(), x, use_reentrant=False)
    opt.zero_grad()
    F.mse_loss(b(h), torch.randn(8, 1)).backward()
    opt.step()
