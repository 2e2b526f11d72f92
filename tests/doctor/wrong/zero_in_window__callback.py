import torch
from torch import nn

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
K = 4


def train_batch(i, x):
    net.zero_grad(set_to_none=True)  # here
    (nn.functional.mse_loss(net(x), x[:, :1]) / K).backward()
    if (i + 1) % K == 0:
        opt.step()


for i in range(24):
    train_batch(i, torch.randn(8, 4))
