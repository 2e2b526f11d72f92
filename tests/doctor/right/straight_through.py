import torch
from torch import nn


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        return g


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -0.5 * g


model = nn.Linear(4, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    h = model(torch.randn(8, 4))
    loss = (Sign.apply(h) + Reverse.apply(h)).pow(2).mean()
    hard = (h > 0).float()
    ste = hard + h - h.detach()
    loss = loss + ste.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
