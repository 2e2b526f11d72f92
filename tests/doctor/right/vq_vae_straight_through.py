import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
enc, dec = nn.Linear(10, 4), nn.Linear(4, 10)
codes = nn.Embedding(8, 4)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *codes.parameters()], lr=1e-3)
for _ in range(12):
    x = torch.randn(16, 10)
    z = enc(x)
    with torch.no_grad():
        idx = torch.cdist(z, codes.weight).argmin(1)
    q = codes(idx)
    st = z + (q - z).detach()
    loss = F.mse_loss(dec(st), x) + F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
    opt.zero_grad()
    loss.backward()
    opt.step()
