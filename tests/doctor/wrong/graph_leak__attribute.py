import torch
import torch.nn.functional as F
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 1)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.total = 0

    def run(self):
        for _ in range(12):
            self.opt.zero_grad()
            loss = F.mse_loss(self.model(torch.randn(8, 4)), torch.randn(8, 1))
            loss.backward()
            self.opt.step()
            self.total = self.total + loss  # here


Trainer().run()
