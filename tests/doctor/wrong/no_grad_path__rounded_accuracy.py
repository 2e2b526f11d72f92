import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 1), nn.Sigmoid())
opt = torch.optim.Adam(model.parameters())


def one_minus_accuracy(p, y):
    hits = (p > 0.5).float()  # here
    wrong = (hits - y).abs().mean()
    wrong.requires_grad_(True)  # or here
    return wrong


for _ in range(6):
    x = torch.randn(20, 6)
    y = (x.sum(1, keepdim=True) > 0).float()
    opt.zero_grad()
    one_minus_accuracy(model(x), y).backward()
    opt.step()
