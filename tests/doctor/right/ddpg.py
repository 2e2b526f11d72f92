import copy

import torch
import torch.nn.functional as F
from torch import nn

actor, critic = (
    nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)),
    nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)),
)
actor_t, critic_t = copy.deepcopy(actor), copy.deepcopy(critic)
opt_a, opt_c = torch.optim.Adam(actor.parameters(), 1e-3), torch.optim.Adam(critic.parameters(), 1e-3)
for _ in range(8):
    s, a, rew, s2 = torch.randn(16, 3), torch.randn(16, 1), torch.randn(16, 1), torch.randn(16, 3)
    with torch.no_grad():
        y = rew + 0.99 * critic_t(torch.cat([s2, actor_t(s2)], 1))
    loss_c = F.mse_loss(critic(torch.cat([s, a], 1)), y)
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
    loss_a = -critic(torch.cat([s, actor(s)], 1)).mean()
    opt_a.zero_grad()
    loss_a.backward()
    opt_a.step()
    for net, slow in ((actor, actor_t), (critic, critic_t)):
        for p, t in zip(net.parameters(), slow.parameters()):
            t.data.copy_(0.99 * t.data + 0.01 * p.data)
