import torch
from torch import nn

G, D = nn.Linear(2, 3), nn.Linear(3, 1)
opt_g = torch.optim.RMSprop(G.parameters(), lr=5e-4)
opt_d = torch.optim.RMSprop(D.parameters(), lr=5e-4)
for _ in range(6):
    for _ in range(3):
        opt_d.zero_grad()
        fake = G(torch.randn(8, 2)).detach()
        loss = -D(torch.randn(8, 3)).mean() + D(fake).mean()
        loss.backward()
        opt_d.step()
        for p in D.parameters():
            p.data.clamp_(-0.01, 0.01)
    opt_g.zero_grad()
    loss = -D(G(torch.randn(8, 2))).mean()
    loss.backward()
    opt_g.step()
