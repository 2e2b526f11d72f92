import torch
from torch import nn

torch.manual_seed(0)
counter = nn.Linear(4, 1)
opt = torch.optim.Adam(counter.parameters())
x, y = torch.randn(9, 4), torch.randint(0, 5, (9, 1))
out = counter(x).long()  # here
loss = (out - y).float().abs().mean()
opt.zero_grad()
loss.backward()  # or here
opt.step()
