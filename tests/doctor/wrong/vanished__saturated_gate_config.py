import argparse
import math

import torch
from torch import nn


def init_linear(layer, gain):
    bound = gain / math.sqrt(layer.in_features)
    nn.init.uniform_(layer.weight, -bound, bound)
    nn.init.zeros_(layer.bias)


class GatedUnit(nn.Module):
    def __init__(self, dim, gate_bias):
        super().__init__()
        self.value, self.gate = nn.Linear(dim, dim), nn.Linear(dim, dim)
        init_linear(self.value, 1.0)
        init_linear(self.gate, 0.5)
        nn.init.constant_(self.gate.bias, gate_bias)  # here

    def forward(self, x):
        return torch.tanh(self.value(x)) * torch.sigmoid(self.gate(x))  # or here


class GatedNet(nn.Module):
    def __init__(self, inp, dim, gate_bias):
        super().__init__()
        self.proj, self.unit, self.out = nn.Linear(inp, dim), GatedUnit(dim, gate_bias), nn.Linear(dim, 1)

    def forward(self, x):
        return self.out(self.unit(self.proj(x)))


def fit(model, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for it in range(args.iters):
        x = torch.randn(args.batch, 8)
        loss = nn.functional.mse_loss(model(x), x[:, :1].sin())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 10 == 0:
            norms = {n: round(p.grad.norm().item(), 6) for n, p in model.named_parameters() if "weight" in n}
            print(it, round(loss.item(), 4), norms)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--iters", type=int, default=40)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--gate-bias", type=float, default=-200.0)  # or here
    args = parser.parse_args()
    torch.manual_seed(0)
    fit(GatedNet(8, 16, args.gate_bias), args)
