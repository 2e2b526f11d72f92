from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class MoEConfig:
    dim: int = 12
    experts: int = 4
    hidden: int = 24
    lr: float = 3e-3
    balance: float = 0.01


class Gate(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.proj = nn.Linear(cfg.dim, cfg.experts)
        self.normalize = nn.Softmax(dim=0)  # here

    def forward(self, x):
        return self.normalize(self.proj(x))  # or here


class MixtureOfExperts(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.gate = Gate(cfg)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(cfg.dim, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, 1))
            for _ in range(cfg.experts)
        )

    def forward(self, x):
        w = self.gate(x)
        y = torch.stack([e(x) for e in self.experts], dim=1).squeeze(-1)
        return (w * y).sum(dim=1, keepdim=True), w


def balance_loss(w):
    load = w.mean(dim=0)
    return ((load - load.mean()) ** 2).sum()


def stream(n, cfg):
    for _ in range(n):
        x = torch.randn(40, cfg.dim)
        region = (x[:, 0] > 0).float() + (x[:, 1] > 0).float()
        yield x, (region + x[:, 2]).unsqueeze(1)


def main(cfg=MoEConfig()):
    torch.manual_seed(0)
    model = MixtureOfExperts(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step, (x, y) in enumerate(stream(25, cfg)):
        pred, w = model(x)
        loss = nn.functional.mse_loss(pred, y) + cfg.balance * balance_loss(w)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 8 == 0:
            print(step, round(loss.item(), 4))


if __name__ == "__main__":
    main()
