import torch
from torch import nn

actor, critic = nn.Linear(3, 1), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
opt_a, opt_c = torch.optim.SGD(actor.parameters(), lr=0.1), torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(3):
    s = torch.randn(8, 3)
    value = critic(torch.cat([s, actor(s)], 1))
    loss_c, loss_a = (value - 1).pow(2).mean(), -value.mean()
    opt_c.zero_grad()
    loss_c.backward(retain_graph=True)
    opt_c.step()  # here
    opt_a.zero_grad()
    loss_a.backward()
    opt_a.step()
