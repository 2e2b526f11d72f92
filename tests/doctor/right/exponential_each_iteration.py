import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
sch = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.97)
for e in range(10):
    for b in range(20):
        opt.zero_grad()
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        sch.step()
print("x")
