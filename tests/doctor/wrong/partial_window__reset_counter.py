import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(28, 4), torch.randn(28, 1)), batch_size=4)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def train_epoch():
    opt.zero_grad()
    pending = 0
    for x, y in loader:
        (nn.functional.mse_loss(net(x), y) / 3).backward()
        pending += 1
        if pending == 3:  # here
            opt.step()  # or here
            opt.zero_grad()
            pending = 0


for epoch in range(5):
    train_epoch()
