import torch
from torch import nn
import torch.nn.functional as F

G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
og, od = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for _ in range(3):
    fake = G(torch.randn(8, 2)).tanh()
    d_loss = D(fake).mean()
    od.zero_grad()
    d_loss.backward()  # or here
    od.step()
    og.zero_grad()
    g_loss = -D(fake).mean()
    g_loss.backward()  # here
    og.step()
