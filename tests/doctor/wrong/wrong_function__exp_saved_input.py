import torch
from torch import nn


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * x  # here


net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(6):
    opt.zero_grad()
    Exp.apply(net(torch.randn(8, 4)) * 0.1).mean().backward()
    opt.step()
