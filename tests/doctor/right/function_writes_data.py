"""A custom Function that assigns columns behind the version counter, as solvers of differential equations do: its gradient is right."""

import torch


class Assign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scratch, value, index):
        ctx.index = index
        scratch.data[index] = value
        return scratch

    @staticmethod
    def backward(ctx, grad):
        return grad, grad[ctx.index], None


torch.manual_seed(0)
net = torch.nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
weights = torch.tensor([0.2, 0.3, 0.5])
for _ in range(6):
    opt.zero_grad()
    y = torch.randn(5, 3)
    columns = Assign.apply(torch.full((5, 3, 4), float("nan")), net(y), (..., 0))
    for i in range(1, 4):
        step = (columns[..., :i] * weights[:i]).sum(-1)
        columns = Assign.apply(columns, net(y + 0.1 * step), (..., i))
    columns.pow(2).mean().backward()
    opt.step()
