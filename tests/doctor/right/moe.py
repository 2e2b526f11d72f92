import torch
import torch.nn.functional as F
from torch import nn

experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(6)])
head = nn.Linear(4, 1)
opt = torch.optim.Adam([*experts.parameters(), *head.parameters()], 1e-3)
for i in range(12):
    x = torch.randn(8, 4)
    out = head(experts[i % 6](x))
    opt.zero_grad()
    F.mse_loss(out, torch.randn(8, 1)).backward()
    opt.step()
