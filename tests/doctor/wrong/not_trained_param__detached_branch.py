import torch
from torch import nn


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key = nn.Linear(4, 8), nn.Linear(6, 8)

    def forward(self, q, k):
        a = self.query(q)
        b = self.key(k).detach()  # here
        return (a * b).sum(1)


net = TwoTower()
opt = torch.optim.Adam(net.parameters())
for _ in range(8):
    out = net(torch.randn(8, 4), torch.randn(8, 6))
    loss = nn.functional.binary_cross_entropy_with_logits(out, torch.ones(8))
    opt.zero_grad()
    loss.backward()
    opt.step()
