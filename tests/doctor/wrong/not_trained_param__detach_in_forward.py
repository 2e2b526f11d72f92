import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        h = self.body(x)
        h = h.detach()  # here
        return self.head(h)


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    opt.zero_grad()
    F.mse_loss(net(torch.randn(8, 4)), torch.randn(8, 1)).backward()
    opt.step()
