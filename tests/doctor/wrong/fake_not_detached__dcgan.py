import torch
import torch.nn as nn

torch.manual_seed(0)
nz, bs = 8, 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, 8, 4, 1, 0, bias=False),
            nn.LeakyReLU(0.2),
            nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.main(z)


netG = Generator()
netD = nn.Sequential(
    nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(8 * 16, 1)
)
criterion = nn.BCEWithLogitsLoss()
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
real_label, fake_label = torch.ones(bs, 1), torch.zeros(bs, 1)

for i in range(15):
    # (1) update D
    real = torch.ones(bs, 1, 8, 8) * torch.rand(bs, 1, 1, 1) - 0.5
    netD.zero_grad()
    errD_real = criterion(netD(real), real_label)
    errD_real.backward()
    fake = netG(torch.randn(bs, nz, 1, 1))  # or here
    errD_fake = criterion(netD(fake), fake_label)  # here
    errD_fake.backward()  # or here
    optimizerD.step()

    # (2) update G
    netG.zero_grad()
    fake = netG(torch.randn(bs, nz, 1, 1))
    errG = criterion(netD(fake), real_label)
    errG.backward()
    optimizerG.step()
    if i % 5 == 0:
        errD = errD_real.item() + errD_fake.item()
        print(f"[{i}] Loss_D: {errD:.4f} Loss_G: {errG.item():.4f}")
