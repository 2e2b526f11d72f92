import torch
from torch import nn
torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
for _ in range(20):
    x = torch.randn(8, 6)
    z = enc(x) * 4
    q = z + (z.round() - z).detach()
    loss = (dec(q) - x).pow(2).mean() + 0 * z.floor().sum() + torch.sign(z).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("x")
