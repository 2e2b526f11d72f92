from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    lr: float = 0.05
    steps: int = 30
    warmup: int = 6


def build(cfg, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(  # or here
        optimizer,
        lambda s: min(1.0, (s + 1) / cfg.warmup) * (1 - s / (cfg.steps + 1)),
    )
    return optimizer, scheduler


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()  # or here
    return loss.item()


def main():
    torch.manual_seed(0)
    cfg = Config()
    model = nn.Sequential(nn.Linear(6, 24), nn.GELU(), nn.Linear(24, 3))
    optimizer, scheduler = build(cfg, model)  # or here
    for step in range(cfg.steps):  # or here
        x = torch.randn(32, 6)
        loss = train_step(model, optimizer, x, x[:, :3].argmax(1))  # here
        if step % 10 == 9:
            print(f"step {step + 1} lr {scheduler.get_last_lr()[0]:.4f} loss {loss:.4f}")


main()
