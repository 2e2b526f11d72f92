import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for i in range(30):
    x = torch.randn(16, 4)
    y = x[:, :1].sign()
    pred = torch.sign(net(x))  # here
    loss = (1 - pred * y).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
