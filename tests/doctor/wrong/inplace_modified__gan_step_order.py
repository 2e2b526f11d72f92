import torch
import torch.nn as nn

torch.manual_seed(0)
nz, batch = 4, 32

G = nn.Sequential(nn.Linear(nz, 16), nn.LeakyReLU(0.2), nn.Linear(16, 2))
D = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_G = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_D = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)


def real_batch():
    angle = torch.rand(batch) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1)


for it in range(20):
    real = real_batch()
    fake = G(torch.randn(batch, nz))

    errD = bce(D(real), ones) + bce(D(fake.detach()), zeros)
    errG = bce(D(fake), ones)  # here

    opt_D.zero_grad()
    errD.backward()
    opt_D.step()  # or here

    opt_G.zero_grad()
    errG.backward()  # or here
    opt_G.step()
    if it % 5 == 0:
        print(f"[{it}] Loss_D {errD.item():.3f} Loss_G {errG.item():.3f}")
