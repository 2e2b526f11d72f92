import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.1)  # or here
net[2] = nn.Linear(8, 2)  # here
for _ in range(6):
    net.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(5, 4)), torch.randint(0, 2, (5,))).backward()
    opt.step()
