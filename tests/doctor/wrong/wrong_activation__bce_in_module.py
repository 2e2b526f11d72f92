import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 1)

    def forward(self, x):
        return torch.sigmoid(self.net(x))  # here


net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
criterion = nn.BCEWithLogitsLoss()
for _ in range(4):
    opt.zero_grad()
    criterion(net(torch.randn(8, 4)), torch.randint(2, (8, 1)).float()).backward()
    opt.step()
