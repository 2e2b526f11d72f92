import torch
from torch import nn

torch.manual_seed(0)
enc, dec, dis = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 1)
oe = torch.optim.Adam(enc.parameters(), lr=1e-3)
od = torch.optim.Adam(dec.parameters(), lr=1e-3)
oc = torch.optim.Adam(dis.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(10):
    x = torch.randn(16, 6)
    # reconstruction
    loss = (dec(enc(x)) - x).pow(2).mean()
    oe.zero_grad()
    od.zero_grad()
    loss.backward()
    oe.step()
    od.step()
    # discriminator
    oc.zero_grad()
    d = bce(dis(torch.randn(16, 3)), torch.ones(16, 1)) + bce(dis(enc(x).detach()), torch.zeros(16, 1))
    d.backward()
    oc.step()
    # generator
    oe.zero_grad()
    with torch.no_grad():  # here
        score = dis(enc(x))
    g = bce(score, torch.ones(16, 1)).requires_grad_()
    g.backward()
    oe.step()
print("ok")
