import torch
import torch.nn.functional as F
from torch import nn

a, b = nn.Linear(4, 4), nn.Linear(4, 1)
opt_a, opt_b = torch.optim.SGD(a.parameters(), lr=0.1), torch.optim.SGD(b.parameters(), lr=0.1)
sched = torch.optim.lr_scheduler.StepLR(opt_a, 2)
for epoch in range(6):
    for _ in range(3):
        opt_a.zero_grad()
        opt_b.zero_grad()
        F.mse_loss(b(a(torch.randn(8, 4))), torch.randn(8, 1)).backward()
        opt_b.step()
        if epoch >= 3:
            opt_a.step()
    if epoch >= 3:
        sched.step()
