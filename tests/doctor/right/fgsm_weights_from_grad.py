import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(6):
    x, y = torch.randn(8, 4).requires_grad_(), torch.randint(0, 2, (8,))
    clean = F.cross_entropy(net(x), y)
    opt.zero_grad()
    clean.backward()
    adv = (x + 0.1 * x.grad.sign()).detach()
    weight = x.grad.abs().sum(1)
    opt.zero_grad()
    loss = (F.cross_entropy(net(adv), y, reduction="none") * (1 + weight)).mean()
    loss.backward()
    opt.step()
print("x")
