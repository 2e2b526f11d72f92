"""BYOL: online and target networks, symmetrised loss summed per sample, EMA of parameters and buffers."""
import copy
import math
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(92)


def MLP(i, h, o):
    return nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h), nn.ReLU(), nn.Linear(h, o))


class EMA:
    def __init__(self, beta, total):
        self.base, self.beta, self.total, self.k = beta, beta, total, 0

    def update(self, target, online):
        self.beta = 1 - (1 - self.base) * (math.cos(math.pi * self.k / self.total) + 1) / 2
        self.k += 1
        for t, o in zip(target.parameters(), online.parameters()):
            t.data = t.data * self.beta + (1 - self.beta) * o.data
        for t, o in zip(target.buffers(), online.buffers()):
            t.copy_(o)


class BYOL(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.online = nn.Sequential(MLP(10, 32, 16), MLP(16, 32, 8))
        self.predictor = MLP(8, 16, 8)
        self.target = copy.deepcopy(self.online)
        self.target.requires_grad_(False)
        self.ema = EMA(0.9, steps)

    @staticmethod
    def loss_fn(p, z):
        return 2 - 2 * (F.normalize(p, dim=-1) * F.normalize(z, dim=-1)).sum(dim=-1)

    def forward(self, v1, v2):
        p1, p2 = self.predictor(self.online(v1)), self.predictor(self.online(v2))
        with torch.no_grad():
            z1, z2 = self.target(v1), self.target(v2)
        return (self.loss_fn(p1, z2.detach()) + self.loss_fn(p2, z1.detach())).mean()


X = torch.randn(4, 10)[torch.randint(0, 4, (160,))] * 2 + torch.randn(160, 10)
learner = BYOL(steps=40)
opt = torch.optim.Adam([p for p in learner.parameters() if p.requires_grad], lr=3e-3)
for epoch in range(4):
    for x in X[torch.randperm(160)].split(16):
        mask1, mask2 = (torch.rand(2, *x.shape) > 0.2).float()
        loss = learner(x * mask1, x * mask2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        learner.ema.update(learner.target, learner.online)
    print(f"epoch {epoch} loss {loss.item():.4f} beta {learner.ema.beta:.4f}")
