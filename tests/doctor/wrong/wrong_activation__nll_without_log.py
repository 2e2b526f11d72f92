import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(5, 3)
crit = nn.NLLLoss()
opt = torch.optim.Adam(net.parameters())
for _ in range(6):
    opt.zero_grad()
    loss = crit(net(torch.randn(4, 5)), torch.randint(0, 3, (4,)))  # here
    loss.backward()
    opt.step()
