import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain):
        ctx.save_for_backward(x, gain)
        return x * gain

    @staticmethod
    def backward(ctx, g):
        x, gain = ctx.saved_tensors
        grad_x = g * gain
        grad_gain = g.sum(0)  # here
        return grad_x, grad_gain


class Layer(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return Scale.apply(x, self.gain)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 5), Layer(5), nn.Linear(5, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(8, 3)
    opt.zero_grad()
    (net(x) - x[:, :1]).pow(2).mean().backward()
    opt.step()
