"""An implicit layer: the fixed point is solved under no_grad, re-attached once, and a hook solves the backward system."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(102)


class Cell(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.W = nn.Linear(dim, dim, bias=False)
        self.U = nn.Linear(dim, dim)
        self.W.weight.data.mul_(0.3)

    def forward(self, z, x):
        return torch.tanh(self.W(z) + self.U(x))


def solve(f, z, tol=1e-4, max_iter=25):
    for _ in range(max_iter):
        nxt = f(z)
        if (nxt - z).norm() < tol * (1 + nxt.norm()):
            return nxt
        z = nxt
    return z


class DEQ(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        with torch.no_grad():
            z = solve(lambda z: self.f(z, x), torch.zeros_like(x))
        z = self.f(z, x)
        if not torch.is_grad_enabled():
            return z
        z0 = z.detach().requires_grad_()
        f0 = self.f(z0, x.detach())

        def backward_hook(grad):
            return solve(lambda g: torch.autograd.grad(f0, z0, g, retain_graph=True)[0] + grad, grad)

        z.register_hook(backward_hook)
        return z


X = torch.randn(200, 6)
Y = (X[:, 0] + X[:, 1].abs() > 0.8).long()
model = nn.Sequential(nn.Linear(6, 24), DEQ(Cell(24)), nn.Linear(24, 2))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    for idx in torch.randperm(160).split(16):
        loss = F.cross_entropy(model(X[idx]), Y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = (model(X[160:]).argmax(1) == Y[160:]).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc.item():.3f}")
