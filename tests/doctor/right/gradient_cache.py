import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

enc = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))
opt = torch.optim.SGD(enc.parameters(), lr=0.1)
for step in range(5):
    a = torch.randn(32, 6)
    b = a + 0.1 * torch.randn(32, 6)
    with torch.no_grad():
        za, zb = enc(a), enc(b)
    za.requires_grad_(), zb.requires_grad_()
    loss = F.cross_entropy(F.normalize(za, dim=1) @ F.normalize(zb, dim=1).T / 0.2, torch.arange(32))
    loss.backward()
    ga, gb = za.grad, zb.grad
    opt.zero_grad()
    for xs, g in ((a, ga), (b, gb)):
        for xc, gc in zip(xs.split(8), g.split(8)):
            enc(xc).backward(gc)
    opt.step()
    print(step, round(loss.item(), 4))
