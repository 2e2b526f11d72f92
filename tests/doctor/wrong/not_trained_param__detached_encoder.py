import torch
from torch import nn


class AE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = nn.Linear(10, 3), nn.Linear(3, 10)  # or here

    def forward(self, x):
        z = torch.relu(self.enc(x))
        z = z.data  # here
        return self.dec(z)


torch.manual_seed(0)
ae = AE()
opt = torch.optim.Adam(ae.parameters())
for _ in range(9):
    x = torch.randn(7, 10)
    opt.zero_grad()
    nn.functional.mse_loss(ae(x), x).backward()
    opt.step()
