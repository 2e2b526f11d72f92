"""Gradual freezing: the embedding is frozen after the first epochs."""
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(40, 16)
        self.fc = nn.Linear(16, 2)

    def forward(self, ids):
        return self.fc(self.emb(ids))


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False  # here


class Session:
    def __init__(self, freeze_at):
        self.model = Model()
        self.freeze_at = freeze_at
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.5, momentum=0.9)  # or here

    def epoch(self, batches):
        total = 0.0
        for ids, y in batches:
            self.opt.zero_grad(set_to_none=False)  # or here
            loss = nn.functional.cross_entropy(self.model(ids), y)
            loss.backward()
            self.opt.step()  # or here
            total += loss.item()
        return total / len(batches)

    def fit(self, batches, epochs):
        for e in range(epochs):
            if e == self.freeze_at:
                freeze(self.model.emb)  # or here
            before = self.model.emb.weight.detach().clone()
            loss = self.epoch(batches)
            moved = (self.model.emb.weight.detach() - before).norm().item()
            print(f"epoch {e} loss {loss:.4f} embedding moved {moved:.4f}")


torch.manual_seed(0)
batches = []
for _ in range(10):
    ids = torch.randint(0, 40, (20, 5))
    batches.append((ids, (ids.float().mean(1) > 19.5).long()))
Session(freeze_at=2).fit(batches, 4)
