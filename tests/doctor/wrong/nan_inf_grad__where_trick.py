"""Poisson deviance regression; the 0 * log(0) case is meant to be masked."""
import torch
from torch import nn


class CountModel(nn.Module):
    def __init__(self, n_features):
        super().__init__()
        self.linear = nn.Linear(n_features, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return torch.relu(self.out(torch.tanh(self.linear(x)))).squeeze(1)


def xlogx(v):
    return torch.where(v > 0, v * torch.log(v), torch.zeros_like(v))  # here


def entropy_penalty(rate):
    total = rate.sum().clamp(min=1e-3)
    return xlogx(rate / total).sum()  # or here


class Fitter:
    def __init__(self, model, lam):
        self.model, self.lam = model, lam
        self.opt = torch.optim.Adam(model.parameters(), lr=5e-3)

    def step(self, x, count):
        rate = self.model(x)
        loss = nn.functional.mse_loss(rate, count) + self.lam * entropy_penalty(rate)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


torch.manual_seed(0)
fitter = Fitter(CountModel(4), lam=0.05)
for step in range(12):
    x = torch.randn(40, 4)
    count = torch.poisson(torch.exp(x[:, 0] * 0.5))
    loss = fitter.step(x, count)
    if step % 3 == 0:
        print(f"step {step} loss {loss:.4f}")
