import torch
import torch.nn.functional as F
from torch import nn


def step(model, opt, x, y):
    opt.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward(retain_graph=True)  # here
    opt.step()
    return loss.item()


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    step(model, opt, torch.randn(8, 4), torch.randn(8, 1))
