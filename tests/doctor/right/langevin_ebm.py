import torch
from torch import nn

torch.manual_seed(0)
E = nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(E.parameters(), lr=1e-3)
for it in range(8):
    x = torch.randn(16, 2)
    neg = torch.rand(16, 2, requires_grad=True)
    for k in range(4):
        g = torch.autograd.grad(E(neg).sum(), neg)[0]
        neg = (neg - 0.1 * g + 0.02 * torch.randn_like(neg)).detach().requires_grad_(True)
    loss = E(x).mean() - E(neg.detach()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
