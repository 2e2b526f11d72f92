import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    x, y = torch.randn(8, 4), torch.randint(3, (8,))
    x.requires_grad_(True)
    loss = F.cross_entropy(model(x), y)
    (g,) = torch.autograd.grad(loss, x)
    adv = (x + 0.1 * g.sign()).detach()
    opt.zero_grad()
    F.cross_entropy(model(adv), y).backward()
    opt.step()
