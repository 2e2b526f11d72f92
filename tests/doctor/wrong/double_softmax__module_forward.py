import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        x = self.fc(x)
        return F.softmax(x, dim=1)  # here


net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
criterion = nn.CrossEntropyLoss()
for _ in range(4):
    opt.zero_grad()
    loss = criterion(net(torch.randn(8, 4)), torch.randint(3, (8,)))
    loss.backward()
    opt.step()
