import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import ExponentialLR

torch.manual_seed(0)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 24), nn.LeakyReLU(0.2), nn.Linear(24, o))


netG, netD = mlp(3, 2), mlp(2, 1)
optG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.9))
optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.9))
schedG = ExponentialLR(optG, gamma=0.9)
schedD = ExponentialLR(optG, gamma=0.9)  # here

for epoch in range(4):
    for _ in range(8):
        real = torch.randn(32, 2) * 0.3 + torch.tensor([1.0, -1.0])
        fake = netG(torch.randn(32, 3))

        d_loss = F.softplus(-netD(real)).mean() + F.softplus(netD(fake.detach())).mean()
        optD.zero_grad()
        d_loss.backward()
        optD.step()

        g_loss = F.softplus(-netD(fake)).mean()
        optG.zero_grad()
        g_loss.backward()
        optG.step()
    schedG.step()
    schedD.step()  # or here
    rates = [o.param_groups[0]["lr"] for o in (optG, optD)]
    print(f"epoch {epoch} D {d_loss.item():.3f} G {g_loss.item():.3f} lr {rates}")
