import torch
from torch import nn

torch.manual_seed(0)
w = nn.Parameter(torch.randn(3, 1))
lr = nn.Parameter(torch.tensor(0.1))
meta = torch.optim.SGD([w, lr], lr=1e-2)
for it in range(10):
    x, y = torch.randn(20, 3), torch.randn(20, 1)
    inner = (x[:10] @ w - y[:10]).pow(2).mean()
    if it < 4:
        (g,) = torch.autograd.grad(inner, [w], create_graph=True)
    else:
        (g,) = torch.autograd.grad(inner, [w])  # here
    fast = w - lr * g
    outer = (x[10:] @ fast - y[10:]).pow(2).mean()
    meta.zero_grad()
    outer.backward()
    meta.step()
print("ok")
