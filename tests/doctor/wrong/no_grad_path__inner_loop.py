import argparse
from typing import Dict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


class Sine(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


class TaskSampler:
    def __init__(self, seed):
        self.gen = torch.Generator().manual_seed(seed)

    def sample(self, k):
        amp = torch.rand((), generator=self.gen) * 4 + 0.1
        phase = torch.rand((), generator=self.gen) * 3.14
        x = torch.rand(2 * k, 1, generator=self.gen) * 10 - 5
        y = amp * torch.sin(x + phase)
        return (x[:k], y[:k]), (x[k:], y[k:])


class MAML:
    def __init__(self, model, inner_lr=0.01, outer_lr=1e-3, inner_steps=2):
        self.model, self.inner_lr, self.inner_steps = model, inner_lr, 1
        self.meta_opt = torch.optim.Adam(model.parameters(), lr=outer_lr)

    def adapt(self, support) -> Dict[str, torch.Tensor]:
        x, y = support
        params = dict(self.model.named_parameters())
        for _ in range(self.inner_steps):
            loss = F.mse_loss(functional_call(self.model, params, (x,)), y)
            grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
            with torch.no_grad():  # here
                params = {n: p - self.inner_lr * g for (n, p), g in zip(params.items(), grads)}  # or here
        return params

    def meta_step(self, tasks):
        self.meta_opt.zero_grad()
        meta_loss = 0.0
        for support, query in tasks:
            fast = self.adapt(support)
            meta_loss = meta_loss + F.mse_loss(functional_call(self.model, fast, (query[0],)), query[1])
        meta_loss = meta_loss / len(tasks)
        meta_loss.backward()  # or here
        self.meta_opt.step()
        return meta_loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=8)
    a = ap.parse_args()
    torch.manual_seed(1)
    sampler, learner = TaskSampler(1), MAML(Sine())
    ema = None
    for it in range(a.iters):
        loss = learner.meta_step([sampler.sample(5) for _ in range(3)])
        ema = loss if ema is None else 0.9 * ema + 0.1 * loss
        if it % 2 == 0:
            print(f"iter {it} meta {loss:.4f} ema {ema:.4f}")


if __name__ == "__main__":
    main()
