import torch
from torch import nn

net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(4):
    a = nn.functional.normalize(net(torch.randn(8, 3)), dim=1)
    cos = (a * a).sum(1).clamp(-1, 1)
    angle = torch.acos(cos)  # here
    loss = angle.mean() + net.weight.pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
