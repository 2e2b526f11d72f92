import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters())
for _ in range(6):
    opt.zero_grad()
    out = torch.sigmoid(net(torch.randn(8, 4)))  # here
    nn.functional.cross_entropy(out, torch.randint(0, 3, (8,))).backward()  # or here
    opt.step()
