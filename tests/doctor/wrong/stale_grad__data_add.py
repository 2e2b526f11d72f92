import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
for _ in range(6):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    loss.backward()  # here
    for p in net.parameters():
        p.data.add_(p.grad, alpha=-0.1)  # or here
