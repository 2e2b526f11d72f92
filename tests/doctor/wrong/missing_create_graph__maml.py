import torch
from torch import nn

torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
meta = torch.optim.SGD([w], lr=0.01)


def loss_of(weights, x, y):
    return (x @ weights - y).pow(2).mean()


for it in range(6):
    meta.zero_grad()
    total = 0.0
    for task in range(3):
        x, y = torch.randn(8, 3), torch.randn(8, 1)
        inner = loss_of(w, x, y)
        (g,) = torch.autograd.grad(inner, [w])  # here
        fast = w - 0.1 * g
        total = total + loss_of(fast, torch.randn(8, 3), torch.randn(8, 1))
    (total / 3).backward()
    meta.step()
