import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
for step in range(60):
    x = torch.randn(16, 4)
    far = x + 3 * torch.randn(16, 4)
    gap = (net(x) - net(x + 0.01)).pow(2).sum(1) - (net(x) - net(far)).pow(2).sum(1) + 1.0
    loss = torch.clamp(gap, min=0).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
