import torch
from torch import nn

G = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
D = nn.Linear(3, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters(), 2e-4), torch.optim.Adam(D.parameters(), 2e-4)
criterion = nn.BCEWithLogitsLoss()
real, none = torch.ones(8, 1), torch.zeros(8, 1)
fixed = torch.randn(4, 2)
for step in range(8):
    D.zero_grad()
    criterion(D(torch.randn(8, 3)), real).backward()
    fake = G(torch.randn(8, 2))
    criterion(D(fake.detach()), none).backward()
    opt_d.step()
    G.zero_grad()
    criterion(D(fake), real).backward()
    opt_g.step()
    with torch.no_grad():
        shown = G(fixed)
