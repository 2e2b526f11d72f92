import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters(), 0.1)
sch = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.8)
def epoch():
    for b in range(25):
        opt.zero_grad()
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        sch.step()  # here
for e in range(6):
    epoch()
print("x")
