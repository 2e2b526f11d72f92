import torch
from torch import nn
import torch.nn.functional as F

q, target = nn.Linear(4, 2), nn.Linear(4, 2)
target.load_state_dict(q.state_dict())
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(12):
    s, s2 = torch.randn(16, 4), torch.randn(16, 4)
    value = q(s).gather(1, torch.randint(2, (16, 1)))
    goal = torch.randn(16, 1) + 0.9 * target(s2).max(1)[0].unsqueeze(1)
    loss = F.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 4 == 3:
        target.load_state_dict(q.state_dict())
