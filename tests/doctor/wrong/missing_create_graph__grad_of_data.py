import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters())
for i in range(5):
    x = torch.randn(8, 2, requires_grad=True)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)  # here
    penalty = x.grad.pow(2).sum(1).mean()
    total = loss + 0.1 * penalty  # or here
    opt.zero_grad()
    total.backward()
    opt.step()
print("x")
