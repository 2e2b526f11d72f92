import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
K = 4
for i in range(24):
    opt.zero_grad()  # here
    loss = nn.functional.mse_loss(net(torch.randn(5, 3)), torch.randn(5, 1)) / K
    loss.backward()
    if (i + 1) % K == 0:
        opt.step()
