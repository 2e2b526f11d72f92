import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
rho = 0.05
for _ in range(10):
    x, y = torch.randn(12, 5), torch.randint(0, 2, (12,))
    nn.functional.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        shifts = []
        for p in model.parameters():
            e = rho * p.grad / (norm + 1e-12)
            p.add_(e)
            shifts.append(e)
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    with torch.no_grad():
        for p, e in zip(model.parameters(), shifts):
            p.sub_(e)
    opt.step()
    opt.zero_grad()
