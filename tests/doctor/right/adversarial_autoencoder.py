import torch
from torch import nn
torch.manual_seed(0)
enc, dec, disc = nn.Linear(6, 2), nn.Linear(2, 6), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())
o_ae = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
o_d = torch.optim.Adam(disc.parameters(), 1e-3)
o_g = torch.optim.Adam(enc.parameters(), 1e-3)
bce = nn.functional.binary_cross_entropy
EPS = 1e-15
for _ in range(10):
    x = torch.rand(16, 6)
    for m in (enc, dec, disc): m.zero_grad()
    rec = bce(torch.sigmoid(dec(enc(x))) + EPS, x + EPS)
    rec.backward()
    o_ae.step()
    enc.eval()
    zr, zf = torch.randn(16, 2), enc(x)
    dl = -torch.mean(torch.log(disc(zr) + EPS) + torch.log(1 - disc(zf.detach()) + EPS))
    o_d.zero_grad()
    dl.backward()
    o_d.step()
    enc.train()
    o_g.zero_grad()
    gl = -torch.mean(torch.log(disc(enc(x)) + EPS))
    gl.backward()
    o_g.step()
print("ok")
