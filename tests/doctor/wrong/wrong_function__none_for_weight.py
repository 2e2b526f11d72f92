import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, None  # here


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))
        self.l = nn.Linear(4, 1)

    def forward(self, x):
        return self.l(Scale.apply(x, self.w))  # or here


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(8):
    x = torch.randn(8, 4)
    opt.zero_grad()
    nn.functional.mse_loss(net(x), x[:, :1]).backward()
    opt.step()
