import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.1), nn.Linear(6, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


def train_epoch():
    net.eval()  # keep the statistics of the pretrained network
    for _ in range(4):
        x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 3, (8,))
        opt.zero_grad()
        F.cross_entropy(net(x), y).backward()
        opt.step()


def validate():
    net.eval()
    with torch.no_grad():
        return F.cross_entropy(net(torch.randn(8, 1, 6, 6)), torch.randint(0, 3, (8,))).item()


for epoch in range(4):
    train_epoch()
    print(epoch, validate() > 0)
