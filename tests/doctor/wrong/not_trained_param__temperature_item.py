import os
import random
from itertools import chain

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, Sampler


class Pairs(Dataset):
    def __init__(self, n, dim=12):
        gen = torch.Generator().manual_seed(0)
        self.centers = torch.randn(6, dim, generator=gen)
        self.labels = torch.randint(0, 6, (n,), generator=gen)
        self.feats = self.centers[self.labels] + 0.2 * torch.randn(n, dim, generator=gen)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        x = self.feats[i]
        return x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x), self.labels[i]


class Encoder(nn.Module):
    def __init__(self, dim=12, out=8):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(dim, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.proj = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, out))
        self.log_temp = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(self.proj(self.trunk(x)), dim=-1)


def nt_xent(z1: Tensor, z2: Tensor, temp: Tensor) -> Tensor:
    z = torch.cat([z1, z2])
    sim = z @ z.T / temp
    n = z1.shape[0]
    sim.fill_diagonal_(float("-inf"))
    target = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, target)


def knn_accuracy(enc: Encoder, data: Pairs) -> float:
    was = enc.training
    enc.eval()
    with torch.no_grad():
        z = enc(data.feats)
        sim = z @ z.T
        sim.fill_diagonal_(-2)
        hit = data.labels[sim.argmax(1)] == data.labels
    enc.train(was)
    return hit.float().mean().item()


def main():
    torch.manual_seed(0)
    data = Pairs(96)
    enc = Encoder()
    opt = torch.optim.SGD(enc.parameters(), lr=0.05, momentum=0.9)
    loader = DataLoader(data, batch_size=24, shuffle=True)
    log = []
    for epoch in range(3):
        for step, (a, b, _) in enumerate(loader):
            z1, z2 = enc(a), enc(b)
            loss = nt_xent(  # here
                z1, z2, 0.5 * enc.log_temp.exp().item())
            opt.zero_grad()
            loss.backward()
            opt.step()
            log.append(loss.item())
        print(f"epoch {epoch}: loss {sum(log[-4:]) / 4:.3f}, knn {knn_accuracy(enc, data):.2f}")


if __name__ == "__main__":
    main()
