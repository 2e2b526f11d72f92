import copy
import torch
from torch import nn

torch.manual_seed(0)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o))


actor, q = mlp(3, 2), mlp(4, 1)
q_target = copy.deepcopy(q)
actor_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
q_opt = torch.optim.Adam(q.parameters(), lr=1e-3)
log_alpha = torch.zeros(1, requires_grad=True)
alpha_opt = torch.optim.Adam([log_alpha], lr=1e-3)


def sample(s):
    mu, log_std = actor(s).chunk(2, 1)
    dist = torch.distributions.Normal(mu, log_std.clamp(-5, 2).exp())
    a = dist.rsample()
    return a, dist.log_prob(a)


for it in range(8):
    s, r, s2 = torch.randn(16, 3), torch.randn(16, 1), torch.randn(16, 3)
    a = torch.randn(16, 1)
    with torch.no_grad():
        a2, lp2 = sample(s2)
        target = r + 0.99 * (q_target(torch.cat([s2, a2], 1)) - log_alpha.exp() * lp2)
    q_loss = nn.functional.mse_loss(q(torch.cat([s, a], 1)), target)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    pi, lp = sample(s)
    actor_loss = (log_alpha.exp().detach() * lp - q(torch.cat([s, pi], 1))).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()
    alpha_loss = -(log_alpha.exp().detach() * (lp + 1.0).detach()).mean()  # here
    alpha_loss.requires_grad_(True)
    alpha_opt.zero_grad()
    alpha_loss.backward()
    alpha_opt.step()
    with torch.no_grad():
        for p, t in zip(q.parameters(), q_target.parameters()):
            t.lerp_(p, 0.01)
print("ok")
