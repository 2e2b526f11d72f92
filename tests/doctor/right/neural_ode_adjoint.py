import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

    def forward(self, t, y):
        return self.net(y**3)


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, func, y0, n, h, *params):
        ctx.func, ctx.n, ctx.h = func, n, h
        with torch.no_grad():
            y = y0
            for i in range(n):
                y = y + h * func(i * h, y)
        ctx.save_for_backward(y, *params)
        return y

    @staticmethod
    def backward(ctx, g):
        y, *params = ctx.saved_tensors
        a, gp = g, [torch.zeros_like(p) for p in params]
        func, h = ctx.func, ctx.h
        for i in reversed(range(ctx.n)):
            with torch.enable_grad():
                yy = y.detach().requires_grad_(True)
                f = func(i * h, yy)
                grads = torch.autograd.grad(f, (yy, *params), a, allow_unused=True)
            a = a + h * grads[0]
            gp = [p + h * q for p, q in zip(gp, grads[1:])]
            y = y - h * f.detach()
        return None, a, None, None, *gp


func = ODEFunc()
opt = torch.optim.Adam(func.parameters(), lr=1e-2)
for it in range(8):
    y0 = torch.randn(16, 2) * 0.5
    target = y0 @ torch.tensor([[0.9, 0.1], [-0.1, 0.9]])
    pred = Adjoint.apply(func, y0, 10, 0.02, *func.parameters())
    loss = (pred - target).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, round(loss.item(), 4))
