import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def normalised(z):
    return (z - z.mean(0)) / z.std(0)  # here


for _ in range(4):
    x = torch.ones(5, 3)
    opt.zero_grad()
    loss = normalised(net(x)).pow(2).sum()
    loss.backward()  # or here
    opt.step()
