import torch
import torch.nn.functional as F
from torch import nn

body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU())
head = nn.Linear(8, 3)
for p in body.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(head.parameters(), 1e-2)
for _ in range(6):
    opt.zero_grad()
    with torch.no_grad():
        h = body(torch.randn(8, 4))
    F.cross_entropy(head(h), torch.randint(3, (8,))).backward()
    opt.step()
