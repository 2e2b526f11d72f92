import torch
from torch import nn

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(8):
    x = torch.randn(8, 4)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)  # here
    loss.backward()
    opt.step()
