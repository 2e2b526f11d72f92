import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset

parser = argparse.ArgumentParser()
parser.add_argument("--nz", type=int, default=8)
parser.add_argument("--ngf", type=int, default=8)
parser.add_argument("--niter", type=int, default=2)
opt = parser.parse_args()
random.seed(7)
torch.manual_seed(7)


class Blobs(Dataset):
    def __init__(self, n=48):
        self.data = torch.tanh(torch.randn(n, 1, 8, 8) + 0.5)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        return self.data[i], 0


def weights_init(m):
    name = m.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif name.find("BatchNorm") != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(opt.nz, opt.ngf * 2, 4, 1, 0, bias=False),
            nn.BatchNorm2d(opt.ngf * 2),
            nn.ReLU(True),
            nn.ConvTranspose2d(opt.ngf * 2, 1, 4, 2, 1, bias=False),
            nn.Tanh(),
        )

    def forward(self, input):
        return self.main(input)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, opt.ngf, 4, 2, 1, bias=False),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(opt.ngf, 1, 4, 1, 0, bias=False),
            nn.Sigmoid(),
        )

    def forward(self, input):
        return self.main(input).view(-1, 1).squeeze(1)


netG, netD = Generator(), Discriminator()
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(4, opt.nz, 1, 1)
optimizerD = optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
dataloader = DataLoader(Blobs(), batch_size=12, shuffle=True)

for epoch in range(opt.niter):
    for i, (real, _) in enumerate(dataloader, 0):
        # (1) update D
        batch_size = real.size(0)
        label = torch.full((batch_size,), 1.0)
        output = netD(real)
        errD_real = criterion(output, label)
        errD_real.backward()  # here
        D_x = output.mean().item()
        noise = torch.randn(batch_size, opt.nz, 1, 1)
        fake = netG(noise)
        label.fill_(0.0)
        output = netD(fake.detach())
        errD_fake = criterion(output, label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()  # or here
        optimizerD.zero_grad()
        # (2) update G
        netG.zero_grad()
        label.fill_(1.0)
        output = netD(fake)
        errG = criterion(output, label)
        errG.backward()  # or here
        optimizerG.step()
        if i % 2 == 0:
            print(f"[{epoch}/{opt.niter}][{i}/{len(dataloader)}] D {errD.item():.4f} G {errG.item():.4f} D(x) {D_x:.4f}")
    with torch.no_grad():
        sample = netG(fixed_noise)
    print("sample", tuple(sample.shape))
