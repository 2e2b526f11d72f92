import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
body, pi, v = nn.Linear(4, 32), nn.Linear(32, 2), nn.Linear(32, 1)
opt = torch.optim.Adam([*body.parameters(), *pi.parameters(), *v.parameters()], lr=3e-3)
for episode in range(8):
    logs, values, rewards = [], [], []
    state = torch.randn(4)
    for t in range(6):
        h = torch.relu(body(state))
        dist = Categorical(torch.softmax(pi(h), -1))
        a = dist.sample()
        logs.append(dist.log_prob(a))
        values.append(v(h))
        rewards.append(float(a))
        state = torch.randn(4)
    R, returns = 0.0, []
    for r in reversed(rewards):
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_losses, value_losses = [], []
    for log, value, ret in zip(logs, values, returns):
        policy_losses.append(-log * (ret - value.item()))
        value_losses.append(nn.functional.smooth_l1_loss(value, ret.view(1)))
    opt.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    opt.step()
