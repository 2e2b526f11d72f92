import torch
from torch import nn

g, c = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
og, oc = torch.optim.RMSprop(g.parameters(), 1e-4), torch.optim.RMSprop(c.parameters(), 1e-4)
for it in range(10):
    for _ in range(3):
        fake = g(torch.randn(16, 4))  # or here
        loss = c(fake).mean() - c(torch.randn(16, 2)).mean()  # here
        oc.zero_grad()
        loss.backward()  # or here
        oc.step()
        with torch.no_grad():
            for p in c.parameters():
                p.clamp_(-0.05, 0.05)
    og.zero_grad()
    (-c(g(torch.randn(16, 4))).mean()).backward()
    og.step()
