import torch
from torch import nn

enc, dec = nn.Linear(4, 3), nn.Linear(3, 4)
opts = [torch.optim.Adam(enc.parameters(), 1e-2), torch.optim.Adam(dec.parameters(), 1e-2)]
scheds = [torch.optim.lr_scheduler.ExponentialLR(opts[0], 0.9) for _ in opts]  # here
for epoch in range(5):
    for _ in range(3):
        x = torch.randn(8, 4)
        loss = nn.functional.mse_loss(dec(enc(x)), x)
        for o in opts:
            o.zero_grad()
        loss.backward()
        for o in opts:
            o.step()
    for s in scheds:
        s.step()
