import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
loss_fn = nn.BCELoss()
for _ in range(6):
    x = torch.randn(16, 4)
    opt.zero_grad()
    loss = loss_fn(net(x), (x[:, :1] > 0).float())  # here
    loss.backward()
    opt.step()
