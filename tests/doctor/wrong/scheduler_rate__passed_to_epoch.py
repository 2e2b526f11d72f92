"""Variational autoencoder on random bit patterns."""
from __future__ import annotations

import torch
from torch.utils.data import DataLoader, TensorDataset

import torch
import torch.nn.functional as F


def elbo(recon, x, mu, logvar, beta=1.0):
    rec = F.binary_cross_entropy_with_logits(recon, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return rec + beta * kl, rec, kl
import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, n_in, hidden, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Dropout(0.1))
        self.to_mu = nn.Linear(hidden, latent)
        self.to_logvar = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, n_in))

    def encode(self, x):
        h = self.encoder(x)
        return self.to_mu(h), self.to_logvar(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return self.decoder(z)

    def forward(self, x):
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar

SEED = 5


def make_loaders(n=160, batch=16):
    protos = (torch.rand(4, 16) > 0.5).float()
    which = torch.randint(0, 4, (n,))
    flips = (torch.rand(n, 16) < 0.05).float()
    x = (protos[which] - flips).abs()
    cut = int(0.8 * n)
    return (
        DataLoader(TensorDataset(x[:cut]), batch_size=batch, shuffle=True),
        DataLoader(TensorDataset(x[cut:]), batch_size=batch),
    )


def run_epoch(model, loader, optimizer=None, beta=1.0, sched=None):
    training = optimizer is not None
    model.train(training)
    sums = {"loss": 0.0, "rec": 0.0, "kl": 0.0}
    with torch.set_grad_enabled(training):
        for (x,) in loader:
            recon, mu, logvar = model(x)
            loss, rec, kl = elbo(recon, x, mu, logvar, beta=beta)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                sched.step()  # here
            for key, value in zip(sums, (loss, rec, kl)):
                sums[key] += value.item()
    return {k: v / len(loader.dataset) for k, v in sums.items()}


def main() -> None:
    torch.manual_seed(SEED)
    train, test = make_loaders()
    model = VAE(16, 24, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
    for epoch in range(5):
        tr = run_epoch(model, train, optimizer, beta=min(1.0, 0.25 * (epoch + 1)), sched=scheduler)
        te = run_epoch(model, test)
        print(f"{epoch}: " + " ".join(f"{k}={v:.3f}" for k, v in tr.items()) + f" | test {te['loss']:.3f}")
    with torch.no_grad():
        model.eval()
        print(model.decode(torch.randn(2, 3)).sigmoid().round().sum().item() >= 0)


if __name__ == "__main__":
    main()
