import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Linear(16, 1), nn.Tanh())
q1, q2 = nn.Linear(4, 1), nn.Linear(4, 1)
actor_t, q1_t, q2_t = map(copy.deepcopy, (actor, q1, q2))
a_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
q_opt = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=1e-3)
for it in range(16):
    s, a, r, s2 = torch.randn(8, 3), torch.rand(8, 1) * 2 - 1, torch.randn(8, 1), torch.randn(8, 3)
    with torch.no_grad():
        a2 = (actor_t(s2) + 0.1 * torch.randn(8, 1)).clamp(-1, 1)
        sa2 = torch.cat([s2, a2], 1)
        y = r + 0.99 * torch.min(q1_t(sa2), q2_t(sa2))
    sa = torch.cat([s, a], 1)
    q_loss = F.mse_loss(q1(sa), y) + F.mse_loss(q2(sa), y)
    q_opt.zero_grad()
    q_loss.backward()
    q_opt.step()
    if it % 2 == 0:
        a_loss = -q1(torch.cat([s, actor(s)], 1)).mean()
        a_opt.zero_grad()
        a_loss.backward()
        a_opt.step()
        with torch.no_grad():
            for net, tgt in ((actor, actor_t), (q1, q1_t), (q2, q2_t)):
                for p, t in zip(net.parameters(), tgt.parameters()):
                    t.data.mul_(0.995)
                    t.data.add_(0.005 * p.data)
