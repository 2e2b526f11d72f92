"""RealNVP: coupling layers, log-det, maximum likelihood; samples and held-out likelihood under no_grad."""
import math
import torch
import torch.nn as nn

torch.manual_seed(111)


class Coupling(nn.Module):
    def __init__(self, flip, hidden=32):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        nn.init.zeros_(self.net[-1].weight)   # starts as the identity
        nn.init.zeros_(self.net[-1].bias)

    def params(self, a):
        s, t = self.net(a).chunk(2, dim=1)
        return torch.tanh(s), t

    def forward(self, x):
        a, b = x.chunk(2, 1)[::-1] if self.flip else x.chunk(2, 1)
        s, t = self.params(a)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)

    def inverse(self, z):
        a, b = z.chunk(2, 1)[::-1] if self.flip else z.chunk(2, 1)
        s, t = self.params(a)
        b = (b - t) * (-s).exp()
        return torch.cat([b, a] if self.flip else [a, b], 1)


class Flow(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(flip=bool(i % 2)) for i in range(depth))

    def log_prob(self, x):
        logdet = x.new_zeros(x.size(0))
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return -0.5 * x.pow(2).sum(1) - math.log(2 * math.pi) + logdet

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z


u = torch.randn(400, 2)
data = torch.stack([u[:, 0], 0.4 * u[:, 0] ** 2 + 0.3 * u[:, 1]], dim=1)
train, test = data[:320], data[320:]
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
for epoch in range(5):
    for x in train[torch.randperm(320)].split(32):
        loss = -flow.log_prob(x).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 10.0)
        opt.step()
    with torch.no_grad():
        nll = -flow.log_prob(test).mean()
    print(f"epoch {epoch} train nll {loss.item():.4f} test nll {nll.item():.4f} mean y {flow.sample(100)[:, 1].mean():.3f}")
