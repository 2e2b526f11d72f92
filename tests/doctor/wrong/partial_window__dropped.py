import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(28, 4), torch.randn(28, 1)), batch_size=4)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    opt.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = F.mse_loss(model(x), y) / 2
        loss.backward()
        if (i + 1) % 2 == 0:  # here
            opt.step()  # or here
            opt.zero_grad()
