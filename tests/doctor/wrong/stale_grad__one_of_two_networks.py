import torch
import torch.nn.functional as F
from torch import nn

enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
opt_e, opt_d = torch.optim.SGD(enc.parameters(), lr=0.01), torch.optim.SGD(dec.parameters(), lr=0.01)
for _ in range(6):
    x = torch.randn(8, 4)
    opt_e.zero_grad()
    loss = F.mse_loss(dec(enc(x)), x)
    loss.backward()  # here
    opt_e.step()
    opt_d.step()  # or here
