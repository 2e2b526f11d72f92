import torch
from torch import nn
import torch.nn.functional as F

from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=4)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=8)
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        (F.mse_loss(model(x), y) / 4).backward()
        if (i + 1) % 4 == 0:
            opt.step()
            opt.zero_grad()
        scheduler.step()  # here
