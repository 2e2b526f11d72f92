"""Categorical VAE with Gumbel-softmax (straight-through) and an annealed temperature."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(99)
N_LAT, N_CAT = 3, 5


class CatVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, N_LAT * N_CAT))
        self.dec = nn.Sequential(nn.Linear(N_LAT * N_CAT, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x, temp, hard):
        logits = self.enc(x).view(-1, N_LAT, N_CAT)
        if self.training:
            z = F.gumbel_softmax(logits, tau=temp, hard=hard, dim=-1)
        else:
            z = F.one_hot(logits.argmax(-1), N_CAT).float()
        return self.dec(z.flatten(1)), logits


def elbo_loss(recon, x, logits):
    bce = F.binary_cross_entropy_with_logits(recon, x, reduction="sum") / x.size(0)
    log_q = F.log_softmax(logits, dim=-1)
    kl = (log_q.exp() * (log_q + math.log(N_CAT))).sum((1, 2)).mean()
    return bce + kl


X = (torch.rand(5, 16) > 0.5).float()[torch.randint(0, 5, (200,))]
X = torch.where(torch.rand_like(X) < 0.05, 1 - X, X)
model, temp, step = CatVAE(), 1.0, 0
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    total = 0.0
    for x in X[torch.randperm(180)].split(18):
        opt.zero_grad()
        recon, logits = model(x, temp, hard=epoch >= 3)
        loss = elbo_loss(recon, x, logits)
        loss.backward()
        opt.step()
        total += loss.item() * len(x)
        step += 1
        if step % 10 == 0:
            temp = max(0.5, math.exp(-0.01 * step))
    model.eval()
    with torch.no_grad():
        recon, _ = model(X[180:], temp, hard=True)
        err = ((recon > 0).float() != X[180:]).float().mean()
    print(f"epoch {epoch} elbo {-total / 180:.3f} temp {temp:.2f} bit error {err.item():.3f}")
