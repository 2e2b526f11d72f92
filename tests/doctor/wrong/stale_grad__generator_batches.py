import torch
from torch import nn


def batches(n):
    for _ in range(n):
        x = torch.randn(8, 3)
        yield x, x.sum(1, keepdim=True)


def losses(model, criterion):
    for x, y in batches(9):
        loss = criterion(model(x), y)
        loss.backward()  # here
        yield loss.item()


torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for value in losses(model, nn.MSELoss()):
    opt.step()  # or here
