import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(40, 3) + 5, torch.randn(40, 1)

    def __len__(self):
        return 40

    def __getitem__(self, i):
        x = self.x[i]
        x -= 5  # here
        return x, self.y[i]


torch.manual_seed(0)
loader = DataLoader(Points(), batch_size=10)
net = nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
for epoch in range(3):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
