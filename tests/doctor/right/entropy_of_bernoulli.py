"""REINFORCE with a learned baseline: graphs of many episodes live in lists until one backward; divided by the episodes."""
import torch
import torch.nn as nn
from torch.distributions import Bernoulli

torch.manual_seed(26)
EPISODES, GAMMA = 6, 0.95


class Balance:
    def reset(self):
        self.x, self.v, self.t = 0.2 * torch.randn(()), torch.zeros(()), 0
        return torch.stack([self.x, self.v])

    def step(self, push):
        self.t += 1
        self.v = self.v + 0.1 * self.x + (0.15 if push else -0.15)
        self.x = self.x + 0.3 * self.v
        return torch.stack([self.x, self.v]), 1.0, bool(self.x.abs() > 1.5) or self.t >= 20


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine = nn.Linear(2, 24)
        self.action_head, self.value_head = nn.Linear(24, 1), nn.Linear(24, 1)
        self.saved_log_probs, self.saved_values, self.entropies = [], [], []

    def forward(self, s):
        h = torch.tanh(self.affine(s))
        dist = Bernoulli(logits=self.action_head(h).squeeze(-1))
        a = dist.sample()
        self.saved_log_probs.append(dist.log_prob(a))
        self.saved_values.append(self.value_head(h).squeeze(-1))
        self.entropies.append(dist.entropy())
        return a.item()


def discount(rewards):
    out, g = [], 0.0
    for r in reversed(rewards):
        g = r + GAMMA * g
        out.insert(0, g)
    return out


policy, env = Policy(), Balance()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
for i_update in range(8):
    returns, lengths = [], []
    for _ in range(EPISODES):
        state, rewards, done = env.reset(), [], False
        while not done:
            state, r, done = env.step(policy(state))
            rewards.append(r)
        returns += discount(rewards)
        lengths.append(len(rewards))
    returns = torch.tensor(returns) / 10
    values, logp = torch.stack(policy.saved_values), torch.stack(policy.saved_log_probs)
    advantage = returns - values.detach()
    policy_loss = -(logp * advantage).sum() / EPISODES
    value_loss = (values - returns).pow(2).sum() / EPISODES
    optimizer.zero_grad()
    (policy_loss + 0.5 * value_loss - 0.01 * torch.stack(policy.entropies).sum() / EPISODES).backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 5.0)
    optimizer.step()
    for saved in (policy.saved_log_probs, policy.saved_values, policy.entropies):
        saved.clear()
    print(f"update {i_update} length {sum(lengths) / EPISODES:.1f} value loss {value_loss.item():.3f}")
