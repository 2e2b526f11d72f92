import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=1e-6)  # or here
x = torch.randn(32, 4)
for i in range(60):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x) * (1 if i < 30 else 60), x[:, :1])  # or here
    loss.backward()  # here
    opt.step()  # or here
