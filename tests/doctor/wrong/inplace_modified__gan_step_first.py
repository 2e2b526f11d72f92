import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3))
D = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
bce = nn.BCEWithLogitsLoss()
for _ in range(3):
    fake = G(torch.randn(4, 2))
    score = D(fake)
    d_loss = bce(D(torch.randn(4, 3)), torch.ones(4, 1)) + bce(D(fake.detach()), torch.zeros(4, 1))
    g_loss = bce(score, torch.ones(4, 1))
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()  # here
    opt_g.zero_grad()
    g_loss.backward()  # or here
    opt_g.step()
