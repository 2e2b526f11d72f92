import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def train(self, batches):
        self.net.train()
        for x, y in batches:
            loss = nn.functional.cross_entropy(self.net(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    def evaluate(self, batches):
        self.net.eval()
        torch.set_grad_enabled(False)  # here
        return sum((self.net(x).argmax(1) == y).sum().item() for x, y in batches)


batches = [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(6)]
trainer = Trainer()
for epoch in range(3):
    trainer.train(batches)
    print(trainer.evaluate(batches) >= 0)
