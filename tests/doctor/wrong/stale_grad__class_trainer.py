import torch
import torch.nn.functional as F
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.9)

    def fit(self, epochs):
        self.opt.zero_grad()
        for _ in range(epochs):
            self.batch(torch.randn(8, 4), torch.randint(3, (8,)))

    def batch(self, x, y):
        loss = F.cross_entropy(
            self.model(x),
            y,
        )
        loss.backward()  # here
        self.opt.step()  # or here


Trainer().fit(5)
