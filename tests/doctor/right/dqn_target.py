import copy

import torch
import torch.nn.functional as F
from torch import nn

q = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(12):
    s, s2 = torch.randn(16, 4), torch.randn(16, 4)
    a, rew = torch.randint(2, (16, 1)), torch.randn(16)
    with torch.no_grad():
        greedy = q(s[:1]).argmax(1).item()
    value = q(s).gather(1, a)
    nxt = target(s2).max(1)[0].detach()
    loss = F.smooth_l1_loss(value, (rew + 0.9 * nxt).unsqueeze(1))
    opt.zero_grad()
    loss.backward()
    for p in q.parameters():
        p.grad.data.clamp_(-1, 1)
    opt.step()
    if step % 4 == 0:
        target.load_state_dict(q.state_dict())
