import torch
from torch import nn

net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), 1e-3)
criterion = nn.L1Loss()
for _ in range(4):
    x, y = torch.randn(8, 4), torch.randn(8)
    out = net(x)
    loss = criterion(out, y)  # here
    opt.zero_grad()
    loss.backward()
    opt.step()
