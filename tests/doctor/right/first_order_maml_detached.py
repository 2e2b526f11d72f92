import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Linear(3, 1)
meta = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(6):
    meta.zero_grad()
    for task in range(3):
        x, y = torch.randn(8, 3), torch.randn(8, 1)
        fast = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
        loss = F.mse_loss(torch.func.functional_call(net, fast, x), y)
        grads = torch.autograd.grad(loss, list(fast.values()))
        fast = {k: (v - 0.1 * g).detach().requires_grad_() for (k, v), g in zip(fast.items(), grads)}
        query = F.mse_loss(torch.func.functional_call(net, fast, torch.randn(8, 3)), torch.randn(8, 1))
        grads = torch.autograd.grad(query, list(fast.values()))
        for p, g in zip(net.parameters(), grads):
            p.grad = g / 3 if p.grad is None else p.grad + g / 3
    meta.step()
