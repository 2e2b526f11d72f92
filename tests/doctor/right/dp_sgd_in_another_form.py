import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
C, sigma = 1.0, 0.5
for step in range(6):
    x, y = torch.randn(8, 6), torch.randint(0, 2, (8,))
    total = [torch.zeros_like(p) for p in model.parameters()]
    for i in range(8):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), C)
        for t, p in zip(total, model.parameters()):
            t += p.grad
    for p, t in zip(model.parameters(), total):
        p.grad = (t + sigma * C * torch.randn_like(t)) / 8
    opt.step()
