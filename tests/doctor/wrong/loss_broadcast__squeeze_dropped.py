import torch
from torch import nn

x = torch.randn(64, 3)
y = x.sum(1)
net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(6):
    pred = net(x)
    pred.squeeze(1)  # here
    loss = nn.functional.mse_loss(pred, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
