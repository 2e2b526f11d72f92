import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

import numpy as np
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self):
        self.data = np.random.RandomState(0).rand(32, 5).astype(np.float32) * 10

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        scan = torch.from_numpy(self.data[i])
        scan.sub_(scan.mean()).div_(scan.std() + 1.0)  # here
        return scan, scan.sum()


loader = DataLoader(Scans(), batch_size=8)
net = nn.Linear(5, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(3):
    for x, y in loader:
        loss = F.mse_loss(net(x).squeeze(-1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch)
