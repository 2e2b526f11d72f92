import math

import torch
from torch import nn

BLOCKS = {}


def block(cls):
    BLOCKS[cls.__name__] = cls
    return cls


@block
class AffineCoupling(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.flip = flip
        self.st = nn.Sequential(nn.Linear(dim // 2, 24), nn.Tanh(), nn.Linear(24, dim))

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.st(a).chunk(2, dim=1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], dim=1), s.sum(1)


@block
class ActNorm(nn.Module):
    def __init__(self, dim, flip):
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return x * self.log_scale.exp() + self.bias, self.log_scale.sum().expand(len(x))


class Flow(nn.Module):
    def __init__(self, spec, dim):
        super().__init__()
        stages = {f"{i}_{name}": BLOCKS[name](dim, i % 2 == 1) for i, name in enumerate(spec)}
        self.norms = nn.ModuleList(m for k, m in stages.items() if "ActNorm" in k)
        self.stages = stages  # here

    def log_prob(self, x):
        total = torch.zeros(len(x))
        for stage in self.stages.values():
            x, ld = stage(x)
            total = total + ld
        return total - 0.5 * (x ** 2 + math.log(2 * math.pi)).sum(1)


def run(flow, data, iterations=20):
    opt = torch.optim.Adam(flow.parameters(), lr=5e-3)  # or here
    for it in range(iterations):
        opt.zero_grad()
        nll = -flow.log_prob(data[torch.randint(0, len(data), (64,))]).mean()
        nll.backward()
        opt.step()
        if it % 5 == 0:
            print(f"{it:3d} nll {nll.item():.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    base = torch.randn(500, 4)
    run(Flow(["ActNorm", "AffineCoupling", "ActNorm", "AffineCoupling"], 4), base * 0.5 + base.roll(1, 1))
