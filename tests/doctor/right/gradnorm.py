import torch
import torch.nn.functional as F
from torch import nn

body = nn.Linear(4, 4)
heads = nn.ModuleList([nn.Linear(4, 1), nn.Linear(4, 1)])
weights = nn.Parameter(torch.ones(2))
opt = torch.optim.Adam([*body.parameters(), *heads.parameters()], 1e-3)
opt_w = torch.optim.Adam([weights], 1e-2)
for _ in range(6):
    x, y = torch.randn(8, 4), torch.randn(8, 2)
    h = body(x)
    losses = torch.stack([F.mse_loss(head(h)[:, 0], y[:, i]) for i, head in enumerate(heads)])
    opt.zero_grad()
    (weights * losses).sum().backward(retain_graph=True)
    weights.grad = None
    norms = torch.stack(
        [
            torch.autograd.grad(weights[i] * losses[i], body.weight, retain_graph=True, create_graph=True)[0].norm()
            for i in range(2)
        ]
    )
    loss = (norms - norms.mean().detach()).abs().sum()
    weights.grad = torch.autograd.grad(loss, weights)[0]
    opt.step()
    opt_w.step()
