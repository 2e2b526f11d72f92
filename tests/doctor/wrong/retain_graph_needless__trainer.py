import torch
from torch import nn


class Trainer:
    def __init__(self, net):
        self.net, self.opt = net, torch.optim.Adam(net.parameters())
        self.history = []

    def fit(self, n):
        for _ in range(n):
            self.opt.zero_grad()
            out = self.net(torch.randn(8, 4))
            total = sum(getattr(self, f"loss_{k}")(out) for k in ("a", "b"))
            total.backward(retain_graph=True)  # here
            self.opt.step()
            self.history.append(total.item())

    def loss_a(self, out):
        return out.pow(2).mean()

    def loss_b(self, out):
        return (out - 1).abs().mean()


Trainer(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))).fit(12)
