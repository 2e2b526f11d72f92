import torch
from torch import nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
disc = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
og = torch.optim.Adam(gen.parameters(), lr=1e-3)
od = torch.optim.Adam(disc.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(60):
    real = torch.randn(32, 16)
    fake = gen(torch.randn(32, 8))
    loss_d = bce(disc(real), torch.ones(32, 1)) + bce(disc(fake.detach()), torch.zeros(32, 1))
    loss_d.backward()  # here
    od.step()
    og.zero_grad()
    loss_g = bce(disc(fake), torch.ones(32, 1))
    loss_g.backward()
    og.step()
