import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
with torch.no_grad():
    for i in range(6):
        opt.zero_grad()
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        for _ in range(4):
            noise = [torch.randn_like(p) for p in model.parameters()]
            for p, n in zip(model.parameters(), noise):
                p.add_(0.01 * n)
            fitness = F.mse_loss(model(x), y)
            for p, n in zip(model.parameters(), noise):
                p.sub_(0.01 * n)
                p.grad += fitness * n
        opt.step()
