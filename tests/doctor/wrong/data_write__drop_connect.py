import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class DropConnect(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.l = nn.Linear(i, o)

    def forward(self, x):
        y = torch.sigmoid(self.l(x))
        y.data.mul_((torch.rand_like(y) > 0.3).float())  # here
        return y


net = nn.Sequential(DropConnect(6, 16), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(8):
    x = torch.randn(16, 6)
    loss = (net(x).squeeze(1) - x[:, 0]).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 4 == 0:
        print(round(loss.item(), 3))
