import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=2, gamma=0.5)
for epoch in range(6):
    sched.step()  # here
    for _ in range(3):
        opt.zero_grad()
        net(torch.randn(4, 2)).pow(2).mean().backward()
        opt.step()
