import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    out = net(torch.randn(6, 4))
    for p in net.parameters():
        p.data.div_(p.data.norm() + 1e-6)  # here
    opt.zero_grad()
    out.pow(2).mean().backward()
    opt.step()
