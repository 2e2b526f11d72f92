import sys
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def cosine_loss(a, b):
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))  # here


for step in range(20):
    x = torch.randn(5, 3)
    if step == 9:
        x[0] = 0.0
    target = x
    out = net(x)
    loss = (out - x).pow(2).mean() - (cosine_loss(out, target).mean() if step > 5 else 0)
    if torch.isnan(loss):
        print("nan at", step)
        opt.zero_grad()
        loss.backward()
        sys.exit(1)
    opt.zero_grad()
    loss.backward()
    opt.step()
