import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    x = torch.randn(8, 4)
    s = net(x)
    target = torch.randn(8, 1)
    diff = s - s.t()
    loss = F.softplus(-diff * torch.sign(target - target.t())).mean()
    z = s.squeeze(1)
    d = z.unsqueeze(1) - z
    loss = loss + 0.01 * (d**2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
