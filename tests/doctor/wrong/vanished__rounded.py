import torch
from torch import nn
torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(4, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
for _ in range(20):
    x = torch.randn(8, 6)
    code = torch.round(torch.sigmoid(enc(x)) * 15)  # here
    loss = (dec(code / 15) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("x")
