"""VQGAN-style start: the discriminator and its optimizer exist from step 0, yet run only after disc_start."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
disc_start = 16


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 3))
        self.decoder = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 16))

    def forward(self, x):
        return self.decoder(self.encoder(x))


ae = AutoEncoder()
disc = nn.Sequential(nn.Linear(16, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
opt_ae = torch.optim.Adam(ae.parameters(), lr=3e-3)
opt_disc = torch.optim.Adam(disc.parameters(), lr=1e-3)
sched_ae = torch.optim.lr_scheduler.ExponentialLR(opt_ae, 0.99)
sched_disc = torch.optim.lr_scheduler.ExponentialLR(opt_disc, 0.99)
data = torch.randn(256, 3) @ torch.randn(3, 16) + 0.05 * torch.randn(256, 16)
step = 0
for epoch in range(5):
    for x in data[torch.randperm(256)].split(32):
        adversarial = step >= disc_start
        recon = ae(x)
        loss = F.l1_loss(recon, x)
        if adversarial:
            loss = loss - 0.05 * disc(recon).mean()
        opt_ae.zero_grad()
        loss.backward()
        opt_ae.step()
        sched_ae.step()

        if adversarial:
            real, fake = disc(x), disc(recon.detach())
            d_loss = 0.5 * (F.relu(1.0 - real).mean() + F.relu(1.0 + fake).mean())
            opt_disc.zero_grad()
            d_loss.backward()
            opt_disc.step()
            sched_disc.step()
        step += 1
    tail = f"disc {d_loss.item():.4f}" if step > disc_start else "disc idle"
    print(f"epoch {epoch} ae {loss.item():.4f} {tail}")
