import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

from torch.utils.data import DataLoader, TensorDataset
x = torch.randn(48, 6)
dl = DataLoader(TensorDataset(x, (x[:, 0] > 0).long()), batch_size=12, shuffle=True)
body, head = nn.Sequential(nn.Linear(6, 12), nn.ReLU()), nn.Linear(12, 2)
net = nn.Sequential(body, head)


def run(epochs, lr):
    params = [p for p in net.parameters() if p.requires_grad]
    opt = torch.optim.Adam(params, lr=lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * len(dl))
    for e in range(epochs):
        for a, b in dl:
            loss = F.cross_entropy(net(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
    return loss.item()


body.requires_grad_(False)
print(round(run(2, 1e-2), 2))
body.requires_grad_(True)
print(round(run(3, 1e-3), 2))
print(round(run(3, 1e-4), 2))
