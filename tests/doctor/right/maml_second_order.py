import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
w = nn.ParameterList([nn.Parameter(torch.randn(8, 1) * 0.5), nn.Parameter(torch.zeros(8)), nn.Parameter(torch.randn(1, 8) * 0.5)])
meta = torch.optim.Adam(w.parameters(), lr=1e-2)


def net(x, w):
    return F.linear(torch.tanh(F.linear(x, w[0], w[1])), w[2])


for it in range(6):
    meta.zero_grad()
    total = 0.0
    for task in range(3):
        phase = torch.rand(1) * 3
        x, xq = torch.rand(6, 1), torch.rand(6, 1)
        fast = list(w)
        for _ in range(2):
            loss = F.mse_loss(net(x, fast), torch.sin(x + phase))
            grads = torch.autograd.grad(loss, fast, create_graph=True)
            fast = [p - 0.1 * g for p, g in zip(fast, grads)]
        total = total + F.mse_loss(net(xq, fast), torch.sin(xq + phase)) / 3
    total.backward()
    meta.step()
