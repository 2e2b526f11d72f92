import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
sched_g = torch.optim.lr_scheduler.ExponentialLR(opt_d, 0.9)  # here
sched_d = torch.optim.lr_scheduler.ExponentialLR(opt_d, 0.9)  # or here
bce = nn.BCEWithLogitsLoss()
for epoch in range(4):
    for _ in range(3):
        fake = G(torch.randn(4, 2))
        opt_d.zero_grad()
        (bce(D(torch.randn(4, 3)), torch.ones(4, 1)) + bce(D(fake.detach()), torch.zeros(4, 1))).backward()
        opt_d.step()
        opt_g.zero_grad()
        bce(D(fake), torch.ones(4, 1)).backward()
        opt_g.step()
    sched_g.step()
    sched_d.step()
