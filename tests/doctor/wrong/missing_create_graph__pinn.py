"""Physics-informed network for u' = -u, u(0) = 1."""
import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self, width=20):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, 1),
        )

    def forward(self, t):
        return self.net(t)


class Solver:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def residual(self, t):
        t = t.requires_grad_(True)
        u = self.model(t)
        du_dt = torch.autograd.grad(u.sum(), t, retain_graph=True)[0]  # here
        return du_dt + u

    def step(self):
        self.optimizer.zero_grad()
        physics = self.residual(torch.rand(48, 1) * 2).pow(2).mean()  # or here
        start = (self.model(torch.zeros(1, 1)) - 1).pow(2).mean()
        loss = physics + start
        loss.backward()
        self.optimizer.step()
        return physics.item(), start.item()


torch.manual_seed(0)
solver = Solver(PINN())
for it in range(1, 41):
    physics, start = solver.step()
    if it % 10 == 0:
        with torch.no_grad():
            err = (solver.model(torch.ones(1, 1)) - torch.exp(torch.tensor(-1.0))).abs().item()
        print(f"it {it} physics {physics:.4f} start {start:.4f} error at t=1 {err:.4f}")
