import torch
from torch import nn

torch.manual_seed(0)
shared = nn.Linear(8, 16)
heads = nn.ModuleList([nn.Linear(16, 1) for _ in range(3)])
w = nn.Parameter(torch.ones(3))
opt = torch.optim.Adam([*shared.parameters(), *heads.parameters()], lr=1e-2)
opt_w = torch.optim.Adam([w], lr=1e-2)
x = torch.randn(64, 8)
ts = [x[:, :1], 5 * x[:, 1:2], x[:, 2:3].abs()]
l0 = None
for it in range(20):
    h = torch.relu(shared(x))
    L = torch.stack([nn.functional.mse_loss(hd(h), t) for hd, t in zip(heads, ts)])
    if l0 is None:
        l0 = L.detach()
    opt.zero_grad()
    (w * L).sum().backward(retain_graph=True)
    w.grad = None
    norms = torch.stack([torch.autograd.grad(w[i] * L[i], shared.weight, retain_graph=True, create_graph=True)[0].norm() for i in range(3)])
    with torch.no_grad():
        r = L / l0
        target = norms.mean() * (r / r.mean()) ** 0.5
    w.grad = torch.autograd.grad((norms - target).abs().sum(), w)[0]
    opt.step()
    opt_w.step()
    with torch.no_grad():
        w.mul_(3 / w.sum())
    if it % 5 == 0:
        print(it, L.tolist(), w.tolist())
