import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class VanillaRNN(nn.Module):
    def __init__(self, h=16):
        super().__init__()
        self.h = h
        self.wx, self.wh, self.out = nn.Linear(1, h), nn.Linear(h, h, bias=False), nn.Linear(h, 1)
        nn.init.eye_(self.wh.weight)
        self.wh.weight.data *= 1.6

    def forward(self, x):
        h = torch.zeros(x.size(0), self.h)
        for t in range(x.size(1)):
            h = self.wx(x[:, t]) + self.wh(h)
        return self.out(h)


net = VanillaRNN()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    x = torch.rand(8, 20, 1)
    loss = F.mse_loss(net(x), x.sum(1))
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()  # here
    print(step, loss.item() > 0)
