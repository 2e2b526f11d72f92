import torch
from torch import nn

torch.manual_seed(0)
trunk, heads = nn.Linear(6, 8), nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
w = torch.ones(2, requires_grad=True)
opt = torch.optim.Adam([*trunk.parameters(), *heads.parameters()], lr=1e-3)
opt_w = torch.optim.Adam([w], lr=1e-2)
first = None
for step in range(8):
    x = torch.randn(16, 6)
    h = torch.relu(trunk(x))
    losses = torch.stack([nn.functional.mse_loss(head(h), x[:, i : i + 1] * (10**i)) for i, head in enumerate(heads)])
    first = losses.detach() if first is None else first
    opt.zero_grad()
    opt_w.zero_grad()
    (w.detach() * losses).sum().backward(retain_graph=True)
    norms = torch.stack(
        [torch.autograd.grad(w[i] * losses[i], trunk.weight, create_graph=True)[0].norm() for i in range(2)]
    )
    ratio = losses.detach() / first
    target = (norms.mean() * (ratio / ratio.mean()) ** 1.5).detach()
    w.grad = torch.autograd.grad((norms - target).abs().sum(), w)[0]
    opt_w.step()
    opt.step()
    with torch.no_grad():
        w.mul_(2 / w.sum())
