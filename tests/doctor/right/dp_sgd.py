import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(6):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    total = [torch.zeros_like(p) for p in model.parameters()]
    for j in range(8):
        model.zero_grad()
        F.mse_loss(model(x[j : j + 1]), y[j : j + 1]).backward()
        norm = torch.sqrt(sum(p.grad.pow(2).sum() for p in model.parameters()))
        for t, p in zip(total, model.parameters()):
            t += p.grad / max(1.0, norm.item())
    for t, p in zip(total, model.parameters()):
        p.grad = (t + 0.1 * torch.randn_like(t)) / 8
    opt.step()
