import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
bce = nn.BCEWithLogitsLoss()
for _ in range(6):
    fake = G(torch.randn(4, 2))
    od.zero_grad()
    d_loss = bce(D(torch.randn(4, 3)), torch.ones(4, 1)) + bce(D(fake.detach()), torch.zeros(4, 1))
    d_loss.backward(retain_graph=True)  # here
    od.step()
    og.zero_grad()
    bce(D(fake), torch.ones(4, 1)).backward()
    og.step()
