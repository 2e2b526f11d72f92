import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(4):
    x = torch.randn(16, 4)
    opt.zero_grad()
    loss = F.cross_entropy(net(x), (x[:, 0] > 0).long()).item()  # here
    loss.backward()  # or here
    opt.step()
