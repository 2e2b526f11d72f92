import torch
from torch import nn

net = nn.Linear(4, 1)


def run_epoch(lr):
    opt = torch.optim.Adam(net.parameters(), lr=lr)  # here
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        nn.functional.mse_loss(net(x), x[:, :1]).backward()
        opt.step()


for epoch in range(6):
    run_epoch(1e-2 * 0.9**epoch)
