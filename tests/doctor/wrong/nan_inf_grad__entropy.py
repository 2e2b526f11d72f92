import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 4)
with torch.no_grad():
    net.weight[0] = 1e4
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(4):
    p = torch.softmax(net(torch.ones(5, 3)), 1)
    entropy = -(p * torch.log(p)).sum(1).mean()  # here
    opt.zero_grad()
    entropy.backward()  # or here
    opt.step()
