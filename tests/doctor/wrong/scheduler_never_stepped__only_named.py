import torch
from torch import nn

net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
for epoch in range(4):
    for _ in range(3):
        x = torch.randn(8, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(x), x[:, :1]).backward()
        optimizer.step()
    schedule.step  # here
