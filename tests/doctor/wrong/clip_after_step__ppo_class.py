import torch
import torch.nn as nn
from torch.distributions import Categorical


class PPO:
    def __init__(self, obs=4, acts=3):
        self.pi = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, acts))
        self.vf = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))
        self.params = list(self.pi.parameters()) + list(self.vf.parameters())
        self.optimizer = torch.optim.Adam(self.params, lr=3e-3)
        self.eps, self.max_grad_norm = 0.2, 0.5

    @torch.no_grad()
    def collect(self, n=64):
        obs = torch.randn(n, 4)
        dist = Categorical(logits=self.pi(obs))
        act = dist.sample()
        rew = (act == obs[:, :3].argmax(1)).float()
        adv = rew - self.vf(obs).squeeze(1)
        return obs, act, dist.log_prob(act), rew, adv

    def update(self, obs, act, old_logp, rew, adv):
        for idx in torch.randperm(len(obs)).split(32):
            dist = Categorical(logits=self.pi(obs[idx]))
            ratio = (dist.log_prob(act[idx]) - old_logp[idx]).exp()
            surr = torch.min(
                ratio * adv[idx],
                ratio.clamp(1 - self.eps, 1 + self.eps) * adv[idx],
            )
            v_loss = nn.functional.mse_loss(self.vf(obs[idx]).squeeze(1), rew[idx])
            loss = -surr.mean() + 0.5 * v_loss - 0.01 * dist.entropy().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()  # or here
            nn.utils.clip_grad_norm_(  # here
                self.params,
                self.max_grad_norm,
            )


torch.manual_seed(0)
agent = PPO()
for iteration in range(10):
    batch = agent.collect()
    agent.update(*batch)
    print(f"iteration {iteration} mean reward {batch[3].mean().item():.3f}")
