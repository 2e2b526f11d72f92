import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def episode():
    state, log_probs, rewards = torch.zeros(4), [], []
    for _ in range(5):
        dist = Categorical(logits=policy(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        rewards.append(float(action))
        state = torch.randn(4)
    return torch.stack(log_probs), torch.tensor(rewards)


for i in range(7):
    log_probs, rewards = episode()
    returns = rewards.flip(0).cumsum(0).flip(0)
    loss = -(log_probs * (returns - returns.mean())).sum()
    loss.backward()  # here
    optimizer.step()  # or here
