import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Linear(4, 2)
critic = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
actor_opt = torch.optim.Adam(actor.parameters(), 1e-3)
critic_opt = torch.optim.Adam(critic.parameters(), 1e-3)
for i in range(10):
    s, a, r = torch.randn(16, 4), torch.randn(16, 2), torch.randn(16, 1)
    critic_loss = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), r)
    critic_loss.backward()  # or here
    critic_opt.step()  # or here
    critic_opt.zero_grad()
    actor_opt.zero_grad()
    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    actor_loss.backward()  # here
    actor_opt.step()
