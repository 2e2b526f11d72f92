import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = self.build()
        self.opt = torch.optim.Adam(self.model.parameters())  # here

    def build(self):
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def load(self, state):
        self.model = self.build()  # or here
        self.model.load_state_dict(state)

    def step(self):
        loss = nn.functional.cross_entropy(self.model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()


t = Trainer()
for _ in range(3):
    t.step()
t.load(t.model.state_dict())
for _ in range(5):
    t.step()
