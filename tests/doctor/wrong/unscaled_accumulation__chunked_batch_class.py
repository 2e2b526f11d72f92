from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Args:
    batch: int = 48
    micro: int = 12
    lr: float = 0.02
    steps: int = 15


class MicroBatchTrainer:
    """Splits a big batch into micro-batches to fit memory."""

    def __init__(self, model, args):
        self.model = model
        self.args = args
        self.opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    def step(self, x, y):
        self.opt.zero_grad()
        total, parts = 0.0, 0
        for xm, ym in zip(x.split(self.args.micro), y.split(self.args.micro)):
            total += self.backward_on(xm, ym)
            parts += 1
        self.opt.step()
        return total / parts

    def backward_on(self, xm, ym):
        loss = nn.functional.cross_entropy(self.model(xm), ym)  # or here
        loss.backward()  # here
        return loss.item()


def main():
    torch.manual_seed(9)
    args = Args()
    model = nn.Sequential(nn.Linear(8, 24), nn.SiLU(), nn.Linear(24, 4))
    trainer = MicroBatchTrainer(model, args)
    for step in range(args.steps):
        x = torch.randn(args.batch, 8)
        loss = trainer.step(x, x[:, :4].argmax(1))
        if step % 5 == 0:
            print(f"step {step} loss {loss:.4f}")


main()
