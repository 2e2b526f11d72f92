import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

import numpy as np
from torch.utils.data import DataLoader, Dataset


class Cached(Dataset):
    def __init__(self, n=32):
        self.cache = np.zeros((n, 5), dtype=np.float32)
        self.have = np.zeros(n, dtype=bool)

    def __len__(self):
        return len(self.cache)

    def __getitem__(self, i):
        if not self.have[i]:
            self.cache[i] = np.random.RandomState(i).randn(5)
            self.have[i] = True
        x = torch.from_numpy(self.cache[i]).clone()
        x += 0.01 * torch.randn(5)
        return x, x.sum()


dl = DataLoader(Cached(), batch_size=8, shuffle=True)
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(3):
    for x, y in dl:
        opt.zero_grad()
        loss = F.mse_loss(net(x).squeeze(1), y)
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 3))
