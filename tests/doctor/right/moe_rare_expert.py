import torch
from torch import nn
import torch.nn.functional as F


class MoE(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.gate = nn.Linear(d, n)
        self.experts = nn.ModuleList([nn.Linear(d, d) for _ in range(n)])

    def forward(self, x):
        p = F.softmax(self.gate(x).mean(0), -1)
        k = int(p.argmax())
        return p[k] * self.experts[k](x)


torch.manual_seed(0)
m = MoE(4, 6)
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for _ in range(12):
    x = torch.randn(8, 6)
    opt.zero_grad()
    F.mse_loss(m(x), x).backward()
    opt.step()
