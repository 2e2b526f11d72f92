"""The classic DCGAN update: one mean BCE on reals and one on fakes, each with its own backward, then one step."""
import torch
import torch.nn as nn

torch.manual_seed(999)
real_label, fake_label = 1.0, 0.0
nz, batch_size = 10, 24

netG = nn.Sequential(
    nn.ConvTranspose2d(nz, 8, 4, 1, 0), nn.ReLU(True),
    nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh(),
)
netD = nn.Sequential(
    nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(8, 1, 4, 1, 0), nn.Sigmoid(), nn.Flatten(start_dim=0),
)


def weights_init(m):
    if "Conv" in m.__class__.__name__:
        nn.init.normal_(m.weight.data, 0.0, 0.05)
        nn.init.zeros_(m.bias.data)


netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(4, nz, 1, 1)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))

images = torch.zeros(240, 1, 8, 8)
for k in range(240):
    r, c = torch.randint(0, 5, (2,)).tolist()
    images[k, 0, r:r + 4, c:c + 4] = 1.0
images = images * 2 - 1

for epoch in range(2):
    for i, real in enumerate(images.split(batch_size)):
        # Update D: maximize log(D(x)) + log(1 - D(G(z)))
        netD.zero_grad()
        label = torch.full((real.size(0),), real_label)
        errD_real = criterion(netD(real), label)
        errD_real.backward()

        fake = netG(torch.randn(real.size(0), nz, 1, 1))
        label.fill_(fake_label)
        errD_fake = criterion(netD(fake.detach()), label)
        errD_fake.backward()
        optimizerD.step()

        # Update G: maximize log(D(G(z)))
        netG.zero_grad()
        label.fill_(real_label)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        if i % 5 == 0:
            print(f"[{epoch}][{i}] D {errD_real.item() + errD_fake.item():.4f} G {errG.item():.4f}")
    with torch.no_grad():
        print("sample mean", netG(fixed_noise).mean().item())
