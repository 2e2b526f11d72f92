import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(20, 4), torch.randn(20, 1)), batch_size=2)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for i, (x, y) in enumerate(loader):
        size = 4 if i < 8 else 2
        (F.mse_loss(model(x), y) / size).backward()
        if (i + 1) % 4 == 0 or i + 1 == len(loader):
            opt.step()
            opt.zero_grad()
