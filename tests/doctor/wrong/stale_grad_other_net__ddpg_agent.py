import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, s, a):
        return self.net(torch.cat([s, a], dim=1))


class DDPG:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
        self.critic = Critic()
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=2e-3)

    def train(self, s, a, r, s2):
        with torch.no_grad():
            target_q = r + 0.9 * self.critic_target(s2, self.actor_target(s2))
        critic_loss = F.mse_loss(self.critic(s, a), target_q)
        critic_loss.backward()  # here
        self.critic_opt.step()  # or here
        self.critic_opt.zero_grad()  # or here

        actor_loss = -self.critic(s, self.actor(s)).mean()
        self.actor_opt.zero_grad()
        actor_loss.backward()  # or here
        self.actor_opt.step()
        self.soft_update(self.actor_target, self.actor)
        self.soft_update(self.critic_target, self.critic)
        return critic_loss.item(), actor_loss.item()

    @torch.no_grad()
    def soft_update(self, target, source, tau=0.05):
        for t, p in zip(target.parameters(), source.parameters()):
            t.lerp_(p, tau)


torch.manual_seed(0)
agent = DDPG()
for step in range(30):
    s, s2 = torch.randn(32, 3), torch.randn(32, 3)
    with torch.no_grad():
        a = (agent.actor(s) + 0.2 * torch.randn(32, 1)).clamp(-1, 1)
    r = -(a - s[:, :1].tanh()).pow(2)
    losses = agent.train(s, a, r, s2)
    if step % 10 == 9:
        print(f"step {step + 1} critic {losses[0]:.4f} actor {losses[1]:.4f}")
