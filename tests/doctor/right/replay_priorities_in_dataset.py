import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

import numpy as np
from torch.utils.data import DataLoader, Dataset


class PER(Dataset):
    def __init__(self, n=48):
        self.obs = np.random.RandomState(0).randn(n, 4).astype(np.float32)
        self.prio = np.ones(n, dtype=np.float32)

    def __len__(self):
        return len(self.obs)

    def __getitem__(self, i):
        x = torch.from_numpy(self.obs[i])
        return x, x.sum(), self.prio[i], i


ds = PER()
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for x, y, w, idx in DataLoader(ds, batch_size=12, shuffle=True):
        td = net(x)[:, 0] - y
        loss = (w * td.pow(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        ds.prio[idx.numpy()] = td.detach().abs().numpy() + 1e-3
    print(epoch, round(loss.item(), 3))
