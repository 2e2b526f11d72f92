"""Parametrizations: spectral_norm critic (buffers move in every train forward), weight_norm generator, hinge loss, Polyak copy."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.manual_seed(123)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            spectral_norm(nn.Linear(2, 32)), nn.LeakyReLU(0.1),
            spectral_norm(nn.Linear(32, 32)), nn.LeakyReLU(0.1),
        )
        self.out = spectral_norm(nn.Linear(32, 1))

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)


G = nn.Sequential(weight_norm(nn.Linear(4, 32)), nn.ReLU(), weight_norm(nn.Linear(32, 32)), nn.ReLU(), nn.Linear(32, 2))
G_avg = copy.deepcopy(G).requires_grad_(False)
D = Critic()
g_opt = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.0, 0.9))
d_opt = torch.optim.Adam(D.parameters(), lr=4e-3, betas=(0.0, 0.9))
data = torch.cat([torch.randn(150, 2) * 0.2 + c for c in (torch.tensor([1.0, 1.0]), torch.tensor([-1.0, 0.5]))])
for epoch in range(4):
    for real in data[torch.randperm(300)].split(30):
        fake = G(torch.randn(30, 4)).detach()
        d_loss = F.relu(1.0 - D(real)).mean() + F.relu(1.0 + D(fake)).mean()
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()

        g_loss = -D(G(torch.randn(30, 4))).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        for a, p in zip(G_avg.parameters(), G.parameters()):
            a.data.mul_(0.95).add_(p.data, alpha=0.05)
    G_avg.eval()
    with torch.no_grad():
        sample = G_avg(torch.randn(200, 4))
    print(f"epoch {epoch} D {d_loss.item():.4f} G {g_loss.item():.4f} sample mean {sample.mean(0).tolist()}")
