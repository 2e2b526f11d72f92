import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(10, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
smooth = 0.0
for i in range(12):
    x = torch.randn(16, 10)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    loss.backward()
    opt.step()
    smooth = 0.9 * smooth + 0.1 * loss  # here
