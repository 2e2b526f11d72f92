import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(critic.parameters())
for _ in range(5):
    states, returns = torch.randn(32, 4), torch.randn(32)
    values = critic(states)
    advantage = returns - values  # here
    loss = advantage.pow(2).mean()  # or here
    opt.zero_grad()
    loss.backward()
    opt.step()
