import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
x = torch.randn(20, 3); y = x.sum(1, keepdim=True)
opt = torch.optim.LBFGS(net.parameters(), lr=0.5)
def closure():
    opt.zero_grad()
    loss = (net(x) - y).pow(2).mean()  # or here
    return loss  # or here
for i in range(4):
    opt.step(closure)  # here
print("x")
