import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 1.0)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[3, 6], gamma=0.1)
EPOCHS, PER = 8, 20
for epoch in range(EPOCHS):
    for i in range(PER):
        opt.zero_grad()
        net(torch.randn(4, 3)).pow(2).mean().backward()
        opt.step()
        sched.step()  # here
    print(epoch, sched.get_last_lr())
