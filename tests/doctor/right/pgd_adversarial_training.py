import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(6):
    x, y = torch.randn(10, 6), torch.randint(0, 3, (10,))
    delta = torch.zeros_like(x, requires_grad=True)
    for _ in range(4):
        loss = F.cross_entropy(net(x + delta), y)
        loss.backward()
        delta.data = (delta + 0.02 * delta.grad.sign()).clamp(-0.1, 0.1).detach()
        delta.grad.zero_()
    opt.zero_grad()
    F.cross_entropy(net(x + delta.detach()), y).backward()
    opt.step()
