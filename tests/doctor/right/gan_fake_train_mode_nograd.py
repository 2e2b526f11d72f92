"""DCGAN-like training where D's fakes come from G in train mode (batch norm uses batch statistics) under no_grad."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
nz = 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(nz, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(True),
            nn.Linear(32, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(True),
            nn.Linear(32, 16), nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Dropout(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.main(x).squeeze(1)


netG, netD = Generator(), Discriminator()
bce = nn.BCEWithLogitsLoss()
optG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
phase = torch.rand(320, 1) * 6.28
signal = torch.sin(phase + torch.linspace(0, 6.28, 16))
loader = DataLoader(TensorDataset(signal), batch_size=32, shuffle=True)
for epoch in range(3):
    for (real,) in loader:
        b = real.size(0)
        # (1) discriminator
        netD.zero_grad()
        with torch.no_grad():
            fake = netG(torch.randn(b, nz))
        errD_real = bce(netD(real), torch.full((b,), 0.9))
        errD_fake = bce(netD(fake), torch.zeros(b))
        errD = errD_real + errD_fake
        errD.backward()
        optD.step()
        # (2) generator
        netG.zero_grad()
        errG = bce(netD(netG(torch.randn(b, nz))), torch.ones(b))
        errG.backward()
        optG.step()
    print(f"[{epoch}] Loss_D {errD.item():.4f} Loss_G {errG.item():.4f}")
