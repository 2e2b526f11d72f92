"""Trains a network once for each learning rate, as tasks of Ray at the same time.

rushlight run examples/ray_sweep.py
"""

import ray
import torch
from torch import nn


@ray.remote(num_cpus=1)
def train(lr, steps):
    """The loss after some steps on the same 256 points of a sine."""
    torch.manual_seed(0)
    x = torch.linspace(-3, 3, 256).unsqueeze(1)
    y = torch.sin(x)
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main(rates=(0.0001, 0.001, 0.01, 0.1), steps=200):
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    losses = ray.get([train.remote(lr, steps) for lr in rates])
    for lr, loss in zip(rates, losses, strict=True):
        print(f"lr {lr:g}: loss {loss:.5f}")
    print(f"best: {min(zip(losses, rates, strict=True))[1]:g}")
    ray.shutdown()


if __name__ == "__main__":
    main()
