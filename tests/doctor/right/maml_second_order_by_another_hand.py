"""MAML with functional weights: inner autograd.grad(create_graph=True), task losses averaged, one outer backward."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(101)


class SineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.layers(x)


def sample_task(k=8):
    amp, phase = 0.5 + 2 * torch.rand(()), math.pi * torch.rand(())
    x = torch.rand(2 * k, 1) * 6 - 3
    y = amp * torch.sin(x + phase)
    return x[:k], y[:k], x[k:], y[k:]


def adapt(model, x, y, steps, lr, create_graph):
    weights = dict(model.named_parameters())
    for _ in range(steps):
        inner = F.mse_loss(functional_call(model, weights, (x,)), y)
        grads = torch.autograd.grad(inner, list(weights.values()), create_graph=create_graph)
        weights = {k: w - lr * g for (k, w), g in zip(weights.items(), grads)}
    return weights


meta = SineNet()
meta_opt = torch.optim.Adam(meta.parameters(), lr=5e-3)
for it in range(30):
    query_losses = []
    for _ in range(4):
        xs, ys, xq, yq = sample_task()
        fast = adapt(meta, xs, ys, steps=2, lr=0.05, create_graph=True)
        query_losses.append(F.mse_loss(functional_call(meta, fast, (xq,)), yq))
    meta_loss = torch.stack(query_losses).mean()
    meta_opt.zero_grad()
    meta_loss.backward()
    meta_opt.step()
    if it % 10 == 9:
        xs, ys, xq, yq = sample_task()
        fast = adapt(meta, xs, ys, steps=5, lr=0.05, create_graph=False)
        with torch.no_grad():
            after = F.mse_loss(functional_call(meta, fast, (xq,)), yq)
        print(f"iter {it} meta loss {meta_loss.item():.4f} new task {after.item():.4f}")
