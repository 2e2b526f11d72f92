import torch
from torch import nn

net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    out = net(torch.randn(8, 4))
    values = out.detach().numpy()  # here
    loss = torch.from_numpy(values).pow(2).mean().requires_grad_()
    opt.zero_grad()
    loss.backward()
    opt.step()
