"""Bayes by backprop: the ELBO's expectation by S weight samples, one backward per sample, then the KL once."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in) / math.sqrt(n_in))
        self.rho = nn.Parameter(torch.full((n_out, n_in), -4.0))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def sigma(self):
        return F.softplus(self.rho)

    def forward(self, x):
        weight = self.mu + self.sigma() * torch.randn_like(self.mu)
        return F.linear(x, weight, self.bias)

    def kl(self):
        s2 = self.sigma() ** 2
        return 0.5 * (s2 + self.mu ** 2 - 1 - s2.log()).sum()


class BNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesLinear(1, 24), BayesLinear(24, 1)

    def forward(self, x):
        return self.l2(torch.tanh(self.l1(x)))

    def kl(self):
        return self.l1.kl() + self.l2.kl()


N, S, noise = 128, 4, 0.2
x = torch.rand(N, 1) * 4 - 2
y = x ** 3 / 4 + noise * torch.randn(N, 1)
model = BNN()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    total = 0.0
    for idx in torch.randperm(N).split(16):
        opt.zero_grad()
        for _ in range(S):
            nll = ((model(x[idx]) - y[idx]) ** 2).sum() / (2 * noise ** 2)
            # the minibatch stands for the data set (N / batch); average over the S samples
            sample = nll * (N / len(idx)) / S
            sample.backward()
            total += sample.item()
        kl = model.kl()
        kl.backward()
        total += kl.item()
        opt.step()
    print(f"epoch {epoch} -ELBO {total / 8:.2f}")
