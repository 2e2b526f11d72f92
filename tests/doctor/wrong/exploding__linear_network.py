import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 16), nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=2.0)  # or here
for i in range(25):
    x = torch.randn(16, 4)
    opt.zero_grad()
    loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
    loss.backward()  # or here
    opt.step()  # here
print("x")
