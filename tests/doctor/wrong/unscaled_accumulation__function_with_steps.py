import torch
from torch import nn
import torch.nn.functional as F

class Trainer:
    def __init__(self, model, steps):
        self.model, self.steps = model, steps
        self.opt = torch.optim.SGD(model.parameters(), lr=0.01)

    def micro(self, x, y):
        out = self.model(x)
        loss = nn.CrossEntropyLoss()(out, y)  # or here
        loss.backward()  # here

    def train(self, n):
        for i in range(n):
            self.micro(torch.randn(8, 4), torch.randint(3, (8,)))
            if (i + 1) % self.steps == 0:
                self.opt.step()
                self.opt.zero_grad()


Trainer(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), 4).train(16)
