import torch
from torch import nn

a, b = nn.Linear(4, 4), nn.Linear(4, 1)
opt = torch.optim.SGD([*a.parameters(), *b.parameters()], lr=0.1)
for _ in range(3):
    h = torch.sigmoid(a(torch.randn(8, 4)))
    h += 1  # here
    loss = b(h).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
