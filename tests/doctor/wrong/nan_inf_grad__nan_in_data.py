import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for i in range(6):
    x = torch.randn(4, 3)
    if i == 3:
        x[1, 1] = float("nan")
    out = net(x) - 1  # here
    loss = (out * out).mean()  # or here
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
print("done")
