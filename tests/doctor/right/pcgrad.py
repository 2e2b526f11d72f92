import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(6):
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    grads = []
    for task in range(2):
        opt.zero_grad()
        F.mse_loss(model(x)[:, task], y[:, task]).backward()
        grads.append([p.grad.clone() for p in model.parameters()])
    opt.zero_grad()
    for p, a, b in zip(model.parameters(), *grads):
        dot = (a * b).sum()
        p.grad = a + b if dot >= 0 else a + b - dot / (b.norm() ** 2) * b
    opt.step()
