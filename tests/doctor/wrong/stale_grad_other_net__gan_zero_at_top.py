import torch
import torch.nn as nn

torch.manual_seed(0)

adversarial_loss = nn.BCEWithLogitsLoss()
generator = nn.Sequential(nn.Linear(5, 32), nn.LeakyReLU(0.2), nn.Linear(32, 4), nn.Tanh())
discriminator = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optimizer_G = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))

dataset = torch.tanh(torch.randn(320, 4) * 0.5 + 0.5)
dataloader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)

for epoch in range(2):
    for i, imgs in enumerate(dataloader):
        valid = torch.ones(imgs.size(0), 1)
        fake = torch.zeros(imgs.size(0), 1)
        optimizer_G.zero_grad()
        optimizer_D.zero_grad()  # or here

        # Train generator
        gen_imgs = generator(torch.randn(imgs.size(0), 5))
        g_loss = adversarial_loss(discriminator(gen_imgs), valid)
        g_loss.backward()  # or here
        optimizer_G.step()

        # Train discriminator
        real_loss = adversarial_loss(discriminator(imgs), valid)
        fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
        d_loss = (real_loss + fake_loss) / 2
        d_loss.backward()  # here
        optimizer_D.step()  # or here
    print(f"[Epoch {epoch}] [D loss: {d_loss.item():.4f}] [G loss: {g_loss.item():.4f}]")
