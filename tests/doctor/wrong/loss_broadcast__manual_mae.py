import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(4, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.l2(self.l1(x).relu())


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    x = torch.randn(16, 4)
    target = x.sum(1)
    prediction = net(x)
    error = (prediction - target).abs()  # here
    loss = error.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
