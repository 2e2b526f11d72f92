import torch
from torch import nn
import torch.nn.functional as F

meta = nn.Linear(4, 1)
opt = torch.optim.SGD(meta.parameters(), lr=0.01)
for step in range(5):
    for task in range(1):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        grads = torch.autograd.grad(F.mse_loss(meta(x), y), list(meta.parameters()), create_graph=True)
        fast = [p - 0.1 * g for p, g in zip(meta.parameters(), grads)]
        loss = F.mse_loss(x @ fast[0].t() + fast[1], y)
        loss.backward()  # here
    opt.step()  # or here
