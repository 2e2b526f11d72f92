import torch
from torch import nn


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
        self.a, self.b = nn.Linear(12, 1), nn.Linear(12, 3)

    def forward(self, x):
        h = self.trunk(x)  # or here
        return self.a(h), self.b(h)


torch.manual_seed(0)
net = Shared()
opt = torch.optim.Adam(net.parameters())
x, ya, yb = torch.randn(8, 6), torch.randn(8, 1), torch.randint(0, 3, (8,))
for _ in range(3):
    opt.zero_grad()
    pa, pb = net(x)
    losses = [nn.functional.mse_loss(pa, ya), nn.functional.cross_entropy(pb, yb)]
    for loss in losses:
        loss.backward()  # here
    opt.step()
