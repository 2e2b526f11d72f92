import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
with torch.no_grad():
    net[0].bias.fill_(-100)
opt = torch.optim.SGD(net.parameters(), lr=0.01)  # or here
for _ in range(40):
    opt.zero_grad()
    out = net(torch.randn(6, 4))  # or here
    nn.functional.mse_loss(out, torch.ones(6, 1)).backward()  # or here
    opt.step()  # here
