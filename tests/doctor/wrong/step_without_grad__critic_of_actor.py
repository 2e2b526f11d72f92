import torch
from torch import nn


def net(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


actor, critic = net(4, 2), net(6, 1)
actor_opt, critic_opt = torch.optim.Adam(actor.parameters()), torch.optim.Adam(critic.parameters())
for it in range(20):
    s = torch.randn(64, 4)
    with torch.no_grad():
        a = actor(s).tanh()
    loss = nn.functional.mse_loss(critic(torch.cat([s, a], 1)), -a.pow(2).sum(1, keepdim=True))
    critic_opt.zero_grad()
    critic_opt.step()  # here
    critic.requires_grad_(False)
    actor_opt.zero_grad()
    (-critic(torch.cat([s, actor(s).tanh()], 1)).mean()).backward()
    actor_opt.step()
    critic.requires_grad_(True)
