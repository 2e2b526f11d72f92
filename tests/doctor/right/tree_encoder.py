import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class TreeCell(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.leaf, self.comb, self.d = nn.Embedding(10, d), nn.Linear(2 * d, 2 * d), d

    def encode(self, tree):
        if isinstance(tree, int):
            return self.leaf(torch.tensor(tree))
        l, r = map(self.encode, tree)
        a, g = self.comb(torch.cat([l, r])).chunk(2)
        return torch.sigmoid(g) * torch.tanh(a)


def make(depth):
    if depth == 0 or random.random() < 0.3:
        return random.randint(0, 9)
    return make(depth - 1), make(depth - 1)


def value(t):
    return t if isinstance(t, int) else max(map(value, t))


cell, head = TreeCell(), nn.Linear(8, 1)
opt = torch.optim.Adagrad([*cell.parameters(), *head.parameters()], lr=0.05)
for epoch in range(4):
    trees = [make(3) for _ in range(8)]
    opt.zero_grad()
    losses = []
    for t in trees:
        target = torch.tensor([value(t) / 9.0])
        loss = F.mse_loss(head(cell.encode(t)), target) / len(trees)
        loss.backward()
        losses.append(loss.item())
    opt.step()
    print(epoch, round(sum(losses), 4))
