import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
def my_bce(p, t):
    p = torch.sigmoid(p)
    return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()  # here
for _ in range(5):
    x = torch.randn(12, 4)
    opt.zero_grad()
    my_bce(net(x), (x[:, 0] > 0).float()).backward()  # or here
    opt.step()
print("x")
