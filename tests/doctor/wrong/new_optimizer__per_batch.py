import torch
from torch import nn

net = nn.Linear(4, 1)
for epoch in range(3):
    for _ in range(5):
        x = torch.randn(8, 4)
        opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)  # here
        opt.zero_grad()
        nn.functional.mse_loss(net(x), x[:, :1]).backward()
        opt.step()
