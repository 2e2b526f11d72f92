import torch
from torch import nn
from collections import deque

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(q.parameters())
memory = deque(maxlen=100)
for t in range(14):
    s = torch.randn(8, 4)
    values = q(s)
    loss = (values.max(1).values - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    memory.append((s, loss))  # here
