import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class Slots(nn.Module):
    def __init__(self, d=8, n=3):
        super().__init__()
        self.init = nn.Parameter(torch.randn(n, d))
        self.q, self.k, self.v, self.gru = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d), nn.GRUCell(d, d)

    def forward(self, x):
        k, v, s = self.k(x), self.v(x), self.init
        for _ in range(2):
            att = F.softmax(self.q(s) @ k.T / 8**0.5, dim=0) + 1e-8
            w = att / att.sum(1, keepdim=True)
            s = self.gru(w @ v, s)
        return s


m, dec = Slots(), nn.Linear(8, 8)
opt = torch.optim.Adam([*m.parameters(), *dec.parameters()], lr=1e-3)
for i in range(6):
    x = torch.randn(10, 8)
    rec = dec(m(x)).mean(0)
    loss = F.mse_loss(rec, x.mean(0))
    opt.zero_grad(); loss.backward(); opt.step()
print(round(loss.item(), 3))
