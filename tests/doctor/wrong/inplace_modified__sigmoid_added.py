import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        g = torch.sigmoid(self.a(x))
        y = self.b(x) * g
        g += 0.1  # here
        return y, g


net = Gate()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
y, g = net(torch.randn(3, 4))
opt.zero_grad()
(y.sum() + g.sum()).backward()  # or here
opt.step()
