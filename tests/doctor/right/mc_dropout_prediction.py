import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(40, 4)
for epoch in range(20):
    net.train()
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
net.train()
with torch.no_grad():
    draws = torch.stack([net(torch.randn(10, 4)) for _ in range(12)])
mean, std = draws.mean(0), draws.std(0)
