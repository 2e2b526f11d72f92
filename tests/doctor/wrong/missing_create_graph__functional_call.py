import torch
from torch import nn
import torch.nn.functional as F
from torch.func import functional_call
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(5):
    opt.zero_grad()
    for task in range(2):
        a = torch.randn(1)
        x, xq = torch.randn(6, 1), torch.randn(6, 1)
        params = dict(net.named_parameters())
        inner = F.mse_loss(functional_call(net, params, (x,)), a * x)
        grads = torch.autograd.grad(inner, params.values())  # here
        fast = {k: p - 0.1 * g for (k, p), g in zip(params.items(), grads)}
        outer = F.mse_loss(functional_call(net, fast, (xq,)), a * xq) / 2
        outer.backward()
    opt.step()
print("x")
