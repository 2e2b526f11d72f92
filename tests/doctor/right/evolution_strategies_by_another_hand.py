"""OpenAI-ES: the gradient is estimated by antithetic sampling; no backward is ever called."""
import torch
import torch.nn as nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

torch.manual_seed(0)
sigma, pairs, steps = 0.1, 12, 12


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, state):
        return torch.tanh(self.net(state))


@torch.no_grad()
def episode(policy, flat, start):
    vector_to_parameters(flat, policy.parameters())
    state, total = start.clone(), 0.0
    for _ in range(12):
        force = policy(state)
        velocity = state[:, 2:] + 0.2 * torch.cat([force, -state[:, :1]], dim=1)
        state = torch.cat([state[:, :2] + 0.1 * velocity, velocity], dim=1)
        total -= state.pow(2).sum(1).mean().item()
    return total


policy, worker = Policy(), Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=0.05, weight_decay=1e-4)
start = torch.randn(16, 4)
for it in range(steps):
    with torch.no_grad():
        theta = parameters_to_vector(policy.parameters()).clone()
    noises, returns = [], []
    for _ in range(pairs):
        eps = torch.randn_like(theta)
        for sign in (1, -1):
            noises.append(sign * eps)
            returns.append(episode(worker, theta + sigma * sign * eps, start))
    R = torch.tensor(returns)
    ranks = R.argsort().argsort().float() / (len(R) - 1) - 0.5
    estimate = -(ranks[:, None] * torch.stack(noises)).mean(0) / sigma
    offset = 0
    for p in policy.parameters():
        p.grad = estimate[offset:offset + p.numel()].view_as(p).clone()
        offset += p.numel()
    optimizer.step()
    print(f"iter {it:2d} mean return {R.mean():.3f} best {R.max():.3f}")
