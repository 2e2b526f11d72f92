import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Runner:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
        self.opt = torch.optim.Adam(self.model.parameters())
        self.loss = nn.CrossEntropyLoss()

    def loop(self, loader, train):
        total = 0.0
        with torch.set_grad_enabled(train):
            for x, y in loader:
                loss = self.loss(self.model(x), y)  # here
                if train:
                    self.opt.zero_grad()
                    loss.backward()
                    self.opt.step()
                total += loss.item()
        return total


def data(n):
    return DataLoader(TensorDataset(torch.randn(n, 4), torch.randint(0, 2, (n,))), batch_size=8)


r, train, val = Runner(), data(40), data(24)
for _ in range(3):
    r.loop(train, True)
    print(r.loop(val, False) > 0)
