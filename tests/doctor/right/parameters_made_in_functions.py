"""Parameters that a function makes for itself and trains, and updates by hand whose results are used."""
import torch
from torch import nn
from torch.nn import functional as F


def fit(x, y):
    w = nn.Parameter(torch.zeros(x.shape[1]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        F.mse_loss(x @ w, y).backward()
        optimizer.step()
    return w.detach()


class Prompted(nn.Module):
    """Looks for the best offset of each input by itself, then learns from it."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 1)

    def forward(self, x):
        offset = nn.Parameter(torch.zeros(x.shape))
        for _ in range(2):
            (gradient,) = torch.autograd.grad(self.body(x + offset).pow(2).sum(), offset)
            offset.data -= 0.1 * gradient
        return self.body(x + offset.detach())


found = [fit(torch.randn(16, 3), torch.randn(16)) for _ in range(4)]
model = Prompted()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(8):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    F.mse_loss(model(x), x[:, :1]).backward()
    optimizer.step()

weights = [torch.randn(3, requires_grad=True) for _ in range(2)]
for _ in range(4):
    sum((w ** 2).sum() for w in weights).backward()
    moved = []
    for w in weights:
        new = w - 0.1 * w.grad
        moved.append(new.detach().requires_grad_())
    weights = moved
