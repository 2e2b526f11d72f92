import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

def r1(d_out, x):
    g, = torch.autograd.grad(d_out.sum(), x, retain_graph=True)  # here
    return g.pow(2).reshape(x.size(0), -1).sum(1).mean()


D = nn.Sequential(nn.Linear(2, 16), nn.Softplus(), nn.Linear(16, 1))
opt = torch.optim.Adam(D.parameters(), lr=1e-3)
for i in range(6):
    x = torch.randn(16, 2).requires_grad_()
    d = D(x)
    loss = F.softplus(-d).mean() + F.softplus(D(torch.randn(16, 2))).mean() + 5.0 * r1(d, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i, round(loss.item(), 3))
