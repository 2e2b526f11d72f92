"""Soft actor-critic with an automatic temperature: three losses, three optimizers."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)
OBS, ACT, GAMMA, TAU = 4, 2, 0.95, 0.02


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


class SoftActor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(OBS, 2 * ACT)

    def sample(self, s):
        mean, log_std = self.net(s).chunk(2, dim=-1)
        dist = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        u = dist.rsample()
        log_prob = (dist.log_prob(u) - 2 * (0.6931 - u - F.softplus(-2 * u))).sum(-1, keepdim=True)
        return torch.tanh(u), log_prob


actor, q1, q2 = SoftActor(), mlp(OBS + ACT, 1), mlp(OBS + ACT, 1)
t1, t2 = (copy.deepcopy(q).requires_grad_(False) for q in (q1, q2))
log_alpha = torch.zeros(1, requires_grad=True)
q_opt = torch.optim.Adam(list(q1.parameters()) + list(q2.parameters()), lr=2e-3)
a_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
alpha_opt = torch.optim.Adam([log_alpha], lr=3e-3)
S = torch.randn(400, OBS)
with torch.no_grad():
    A = torch.rand(400, ACT) * 2 - 1
    S2 = 0.8 * S + 0.3 * A.repeat(1, 2)
    R = -S2.pow(2).sum(1, keepdim=True)
for step in range(60):
    idx = torch.randint(0, 400, (32,))
    s, a, r, s2 = S[idx], A[idx], R[idx], S2[idx]
    alpha = log_alpha.exp().detach()
    with torch.no_grad():
        a2, logp2 = actor.sample(s2)
        sa2 = torch.cat([s2, a2], 1)
        y = r + GAMMA * (torch.min(t1(sa2), t2(sa2)) - alpha * logp2)
    sa = torch.cat([s, a], 1)
    q_loss = F.mse_loss(q1(sa), y) + F.mse_loss(q2(sa), y)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()

    pi, logp = actor.sample(s)
    spi = torch.cat([s, pi], 1)
    actor_loss = (alpha * logp - torch.min(q1(spi), q2(spi))).mean()
    a_opt.zero_grad()
    actor_loss.backward()
    a_opt.step()

    alpha_loss = -(log_alpha.exp() * (logp.detach() - ACT)).mean()
    alpha_opt.zero_grad()
    alpha_loss.backward()
    alpha_opt.step()
    with torch.no_grad():
        for q, t in ((q1, t1), (q2, t2)):
            for p, tp in zip(q.parameters(), t.parameters()):
                tp.lerp_(p, TAU)
    if step % 15 == 14:
        print(f"step {step} q {q_loss.item():.3f} actor {actor_loss.item():.3f} alpha {log_alpha.exp().item():.3f}")
