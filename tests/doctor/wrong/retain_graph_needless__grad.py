import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
params = list(net.parameters())
for _ in range(10):
    x = torch.randn(8, 4)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    grads = torch.autograd.grad(loss, params, retain_graph=True)  # here
    for p, g in zip(params, grads):
        p.grad = g
    opt.step()
