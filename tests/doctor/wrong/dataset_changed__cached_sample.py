import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    def __init__(self, n):
        self.items = [(torch.randn(4), torch.randn(1)) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        x, y = self.items[i]
        x += 0.1 * torch.randn(4)  # here
        return x, y


net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(4):
    for x, y in DataLoader(Noisy(0) if False else globals().setdefault("data", Noisy(24)), batch_size=8, shuffle=True):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
