import torch
from torch import nn

policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(6):
    log_probs, rewards = [], []
    state = torch.randn(4)
    for _ in range(12):
        dist = torch.distributions.Categorical(logits=policy(state))
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        rewards.append(float(action) - 0.5)
        state = torch.randn(4)
    loss = -(torch.stack(log_probs) * torch.tensor(rewards)).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
