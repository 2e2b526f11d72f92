import torch
from torch import nn

G, D = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)), nn.Linear(3, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
bce = nn.BCEWithLogitsLoss()
for _ in range(6):
    opt_g.zero_grad()
    fake = G(torch.randn(8, 2))
    g_loss = bce(D(fake), torch.ones(8, 1))
    g_loss.backward()
    opt_g.step()
    d_loss = bce(D(torch.randn(8, 3)), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))
    d_loss.backward()  # here
    opt_d.step()
    opt_d.zero_grad()
