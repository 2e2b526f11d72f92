import torch
from torch import nn

generator = nn.Linear(2, 2)
discriminator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters())
opt_d = torch.optim.Adam(discriminator.parameters())
bce = nn.BCEWithLogitsLoss()
for i in range(8):
    discriminator.requires_grad_(True)
    fake = generator(torch.randn(8, 2))
    loss = bce(discriminator(torch.randn(8, 2)), torch.ones(8, 1))
    loss = loss + bce(discriminator(fake.detach()), torch.zeros(8, 1))
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()
    discriminator.requires_grad_(False)
    loss = bce(discriminator(fake), torch.ones(8, 1))
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
