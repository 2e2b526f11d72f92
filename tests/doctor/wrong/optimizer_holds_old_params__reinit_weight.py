import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.proj = nn.Linear(d, d)
        self.temperature = nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        return F.normalize(self.proj(x), dim=-1)


def init_weights(module):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            bound = 1 / math.sqrt(m.in_features)
            m.weight = nn.Parameter(torch.empty_like(m.weight).uniform_(-bound, bound))  # here


def info_nce(a, b, scale):
    logits = a @ b.t() * scale.exp()
    return F.cross_entropy(logits, torch.arange(len(a)))


torch.manual_seed(0)
encoder = Encoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=5e-3)  # or here
init_weights(encoder)  # or here

for step in range(25):
    base = torch.randn(32, 16)
    view1 = base + 0.3 * torch.randn_like(base)
    view2 = base + 0.3 * torch.randn_like(base)
    loss = info_nce(encoder(view1), encoder(view2), encoder.temperature)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.4f}")
