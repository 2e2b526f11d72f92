import torch
from torch import nn


class Assign(torch.autograd.Function):
    """Writes into a buffer of its own, and answers for the gradient itself."""

    @staticmethod
    def forward(ctx, buffer, value, index):
        ctx.index = index
        buffer.data[index] = value
        return buffer

    @staticmethod
    def backward(ctx, grad):
        return grad, grad[ctx.index], None


model = nn.Linear(3, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(8):
    buffer, weights = torch.zeros(4, 3), torch.rand(4, 1)
    x, total = torch.randn(3), 0.0
    for i in range(4):
        x = torch.tanh(model(x))
        buffer = Assign.apply(buffer, x, i)
        total = total + (weights[: i + 1] * buffer[: i + 1]).sum()
    opt.zero_grad()
    total.backward()
    opt.step()
