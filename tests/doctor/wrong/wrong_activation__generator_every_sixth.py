import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

G, D = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
for it in range(5):
    for _ in range(5):
        fake = G(torch.randn(16, 4)).detach()
        ld = F.relu(1 - D(torch.randn(16, 2) + 1)).mean() + F.relu(1 + D(fake)).mean()
        od.zero_grad()
        ld.backward()
        od.step()
    p = torch.sigmoid(D(G(torch.randn(16, 4))))  # here
    lg = F.binary_cross_entropy_with_logits(p, torch.ones(16, 1))  # or here
    og.zero_grad()
    lg.backward()
    og.step()
    print(it, round(lg.item(), 3))
