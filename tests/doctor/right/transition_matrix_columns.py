import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class HMM(nn.Module):
    def __init__(self, K=3, V=5):
        super().__init__()
        self.T, self.E, self.p0 = nn.Parameter(torch.randn(K, K)), nn.Parameter(torch.randn(K, V)), nn.Parameter(torch.randn(K))

    def forward(self, x):
        T, E = F.softmax(self.T, dim=0), F.softmax(self.E, dim=1)
        a = F.softmax(self.p0, dim=0) * E[:, x[0]]
        ll = torch.zeros(())
        for t in x[1:]:
            a = (T @ a) * E[:, t]
            s = a.sum()
            ll = ll + s.log()
            a = a / s
        return -ll


m = HMM()
opt = torch.optim.Adam(m.parameters(), lr=0.05)
for i in range(8):
    loss = m(torch.randint(0, 5, (12,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(round(loss.item(), 2))
