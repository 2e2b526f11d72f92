import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())  # or here
criterion = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters())
for _ in range(6):
    x = torch.randn(12, 5)
    y = (x[:, :1] > 0).float()
    opt.zero_grad()
    loss = criterion(net(x), y)  # here
    loss.backward()
    opt.step()
