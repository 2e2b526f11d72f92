import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
online, target = nn.Linear(4, 2), nn.Linear(4, 2)
target.load_state_dict(online.state_dict())
opt = torch.optim.Adam(online.parameters())
s, a, r, s2 = torch.randn(8, 4), torch.randint(0, 2, (8, 1)), torch.randn(8, 1), torch.randn(8, 4)
with torch.no_grad():  # here
    q = online(s).gather(1, a)  # or here
    expected = r + 0.9 * target(s2).max(1, keepdim=True)[0]
loss = F.smooth_l1_loss(q, expected)
opt.zero_grad()
loss.backward()  # or here
opt.step()
