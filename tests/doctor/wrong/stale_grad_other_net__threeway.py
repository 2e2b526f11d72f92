import torch
from torch import nn

enc, dec, disc = nn.Linear(6, 3), nn.Linear(3, 6), nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
o_ae = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
o_d = torch.optim.Adam(disc.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for _ in range(8):
    x = torch.randn(16, 6)
    z = enc(x)
    loss = nn.functional.mse_loss(dec(z), x) + 0.1 * bce(disc(z), torch.ones(16, 1))
    o_ae.zero_grad()
    loss.backward()
    o_ae.step()
    loss_d = bce(disc(torch.randn(16, 3)), torch.ones(16, 1)) + bce(disc(enc(x).detach()), torch.zeros(16, 1))
    loss_d.backward()  # here
    o_d.step()  # or here
    o_d.zero_grad()
