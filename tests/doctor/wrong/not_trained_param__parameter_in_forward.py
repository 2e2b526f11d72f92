import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 16), nn.Linear(16, 2)

    def forward(self, x):
        scale = nn.Parameter(torch.ones(16))  # here
        return self.outer(torch.relu(self.inner(x)) * scale)


net = Net()
optimizer = torch.optim.Adam(net.parameters())
for _ in range(12):
    x = torch.randn(16, 6)
    optimizer.zero_grad()
    F.cross_entropy(net(x), (x[:, 0] > 0).long()).backward()
    optimizer.step()
