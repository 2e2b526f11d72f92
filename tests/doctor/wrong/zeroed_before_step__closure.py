import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
x = torch.randn(20, 3); y = x.sum(1, keepdim=True)
opt = torch.optim.LBFGS(net.parameters(), lr=0.5)
for i in range(4):
    def closure():
        loss = (net(x) - y).pow(2).mean()
        loss.backward()
        opt.zero_grad()  # here
        return loss
    opt.step(closure)
print("x")
