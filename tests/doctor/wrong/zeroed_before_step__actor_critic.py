import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(0)

actor = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
critic = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
log_std = nn.Parameter(torch.zeros(1))
opt_actor = torch.optim.Adam([*actor.parameters(), log_std], lr=3e-3)
opt_critic = torch.optim.Adam(critic.parameters(), lr=1e-2)


def rollout(n=32):
    s = torch.randn(n, 3)
    with torch.no_grad():
        a = Normal(actor(s), log_std.exp()).sample()
    r = -(a.squeeze(1) - s[:, 0]).pow(2)
    return s, a, r


for update in range(15):
    s, a, r = rollout()
    value = critic(s).squeeze(1)
    advantage = (r - value).detach()

    logp = Normal(actor(s), log_std.exp()).log_prob(a).squeeze(1)
    actor_loss = -(logp * advantage).mean()
    critic_loss = nn.functional.mse_loss(value, r)

    opt_actor.zero_grad()
    actor_loss.backward()
    critic_loss.backward()  # or here
    opt_actor.step()
    opt_critic.zero_grad()  # here
    opt_critic.step()  # or here
    if update % 5 == 0:
        print(f"update {update} return {r.mean().item():.3f} critic {critic_loss.item():.3f}")
