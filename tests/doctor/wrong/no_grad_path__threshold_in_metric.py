import torch
from torch import nn
import torch


def dice_loss(logits, target, eps=1.0):
    pred = (torch.sigmoid(logits) > 0.5).float()  # here
    inter = (pred * target).sum()
    return 1 - (2 * inter + eps) / (pred.sum() + target.sum() + eps)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(4):
    x = torch.rand(2, 1, 8, 8)
    y = (x > 0.5).float()
    loss = dice_loss(net(x), y)
    opt.zero_grad()
    loss.backward()  # or here RAISES
    opt.step()
