import torch
import torch.nn.functional as F
from torch import nn


def train_epoch(model):
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)  # here
    for _ in range(4):
        opt.zero_grad()
        F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        opt.step()


model = nn.Linear(4, 1)
for _ in range(4):
    train_epoch(model)
