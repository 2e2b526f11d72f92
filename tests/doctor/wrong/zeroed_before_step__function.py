import torch
import torch.nn.functional as F
from torch import nn


def update(opt, loss):
    loss.backward()
    opt.zero_grad()  # here
    opt.step()  # or here


model = nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(5):
    update(opt, F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)))
