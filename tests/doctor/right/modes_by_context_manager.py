import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

@contextlib.contextmanager
def evaluating(*nets):
    modes = [n.training for n in nets]
    for n in nets:
        n.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for n, m in zip(nets, modes):
            n.train(m)


@contextlib.contextmanager
def frozen(net):
    flags = [p.requires_grad for p in net.parameters()]
    net.requires_grad_(False)
    yield
    for p, f in zip(net.parameters(), flags):
        p.requires_grad_(f)


G, D = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)), nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.2), nn.LeakyReLU(), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
for i in range(6):
    with torch.no_grad():
        fake = G(torch.randn(16, 3))
    ld = (F.softplus(D(fake)) + F.softplus(-D(torch.randn(16, 2)))).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    with frozen(D):
        lg = F.softplus(-D(G(torch.randn(16, 3)))).mean()
        og.zero_grad()
        lg.backward()
    og.step()
    if i % 2:
        with evaluating(G, D):
            print(i, D(G(torch.randn(4, 3))).shape)
