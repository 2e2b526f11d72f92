import torch
from torch import nn
from torch.nn import functional as F


class LearnedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 8), nn.SiLU(), nn.Linear(8, 1))

    def forward(self, pred, y):
        return F.softplus(self.f(torch.cat([pred, y], 1))).mean()


theta = [torch.randn(1, 4).requires_grad_(), torch.zeros(1).requires_grad_()]
learned = LearnedLoss()
meta = torch.optim.Adam([*theta, *learned.parameters()], lr=1e-3)
for it in range(8):
    x = torch.randn(10, 4)
    y = x.sum(1, keepdim=True)
    meta.zero_grad()
    grads = torch.autograd.grad(learned(F.linear(x, *theta), y), theta)  # here
    fast = [p - 0.1 * g for p, g in zip(theta, grads)]
    F.mse_loss(F.linear(x, *fast), y).backward()
    meta.step()
