import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.actor, self.critic = nn.Linear(4, 8), nn.Linear(8, 2), nn.Linear(8, 1)

    def forward(self, x):
        h = self.body(x).relu()
        return F.softmax(self.actor(h), dim=-1), self.critic(h)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(5):
    saved, rewards = [], []
    for _ in range(10):
        probs, value = net(torch.randn(4))
        m = torch.distributions.Categorical(probs)
        a = m.sample()
        saved.append((m.log_prob(a), value))
        rewards.append(1.0)
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + 0.9 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    policy_losses = [-p * (R - v.item()) for (p, v), R in zip(saved, returns)]
    value_losses = [F.smooth_l1_loss(v, torch.tensor([float(R)])) for (_, v), R in zip(saved, returns)]
    opt.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    opt.step()
