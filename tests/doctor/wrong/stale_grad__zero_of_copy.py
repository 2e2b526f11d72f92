import copy
import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
best = copy.deepcopy(net)
for i in range(8):
    x = torch.randn(8, 4)
    best.zero_grad()  # or here
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    loss.backward()  # here
    opt.step()
