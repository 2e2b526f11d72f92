import torch
from torch import nn


def freeze(model):
    for p in model.parameters():
        p.requires_grad = False  # here


generator = nn.Linear(2, 2)
discriminator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters())
opt_d = torch.optim.Adam(discriminator.parameters())
bce = nn.BCEWithLogitsLoss()
for i in range(8):
    for _ in range(3):
        fake = generator(torch.randn(8, 2)).detach()
        loss = bce(discriminator(torch.randn(8, 2)), torch.ones(8, 1)) + bce(discriminator(fake), torch.zeros(8, 1))
        opt_d.zero_grad()
        loss.backward()
        opt_d.step()
    freeze(discriminator)
    loss = bce(discriminator(generator(torch.randn(8, 2))), torch.ones(8, 1))
    opt_g.zero_grad()
    loss.backward()
    opt_g.step()
