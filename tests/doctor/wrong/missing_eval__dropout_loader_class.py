import torch
from torch import nn
import torch.nn.functional as F

from torch.utils.data import DataLoader, TensorDataset


class Runner:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3))
        self.opt = torch.optim.Adam(self.model.parameters(), 1e-3)
        self.train_data = DataLoader(TensorDataset(torch.randn(24, 4), torch.randint(3, (24,))), batch_size=8)
        self.test_data = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(3, (16,))), batch_size=8)

    def train(self):
        for x, y in self.train_data:
            self.opt.zero_grad()
            F.cross_entropy(self.model(x), y).backward()
            self.opt.step()

    @torch.no_grad()
    def test(self):
        right = 0
        for x, y in self.test_data:
            out = self.model(x)  # here
            right += (out.argmax(1) == y).sum().item()
        return right


r = Runner()
for _ in range(3):
    r.train()
    r.test()
