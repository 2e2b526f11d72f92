import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Counted(Dataset):
    def __init__(self):
        self.rows = torch.randn(24, 4)
        self.seen = torch.zeros(24, dtype=torch.long)
        self.weights = torch.ones(24)
        self.times = np.zeros(24)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        self.seen[i] += 1
        self.weights[i].mul_(0.5)
        self.times[i] += 1.0
        x = self.rows[i].clone()
        x.mul_(1.1)
        return x, x.sum()


net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
data = Counted()
for epoch in range(4):
    for x, y in DataLoader(data, batch_size=8, shuffle=True):
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x).squeeze(1), y).backward()
        optimizer.step()
