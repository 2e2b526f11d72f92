"""Hamiltonian neural network: autograd.grad inside the model, also at test time (eval mode, gradients enabled)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class HNN(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.energy = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1, bias=False)
        )

    def time_derivative(self, x):
        H = self.energy(x)
        dH = torch.autograd.grad(H.sum(), x, create_graph=self.training)[0]
        dq, dp = dH.chunk(2, dim=1)
        return torch.cat([dp, -dq], dim=1)


def pendulum(n):
    x = torch.rand(n, 2) * 4 - 2
    return x, torch.stack([x[:, 1], -torch.sin(x[:, 0])], dim=1)


def rollout(model, x0, dt=0.1, steps=12):
    x = x0
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        k1 = model.time_derivative(x)
        mid = (x + 0.5 * dt * k1).detach().requires_grad_(True)
        x = (x + dt * model.time_derivative(mid)).detach()
    return x


x, dx = pendulum(240)
test_x, test_dx = pendulum(60)
model = HNN()
optim = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
for epoch in range(5):
    model.train()
    for idx in torch.randperm(240).split(24):
        inputs = x[idx].clone().requires_grad_(True)
        loss = F.mse_loss(model.time_derivative(inputs), dx[idx])
        optim.zero_grad()
        loss.backward()
        optim.step()
    model.eval()
    probe = test_x.clone().requires_grad_(True)
    test_loss = F.mse_loss(model.time_derivative(probe), test_dx).item()
    end = rollout(model, test_x[:4])
    with torch.no_grad():
        drift = (model.energy(end) - model.energy(test_x[:4])).abs().mean().item()
    print(f"epoch {epoch} train {loss.item():.4f} test {test_loss:.4f} energy drift {drift:.4f}")
