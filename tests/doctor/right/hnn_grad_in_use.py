import torch
import torch.nn.functional as F
from torch import nn

H = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(H.parameters(), 1e-3)


def field(x):
    (g,) = torch.autograd.grad(H(x).sum(), x, create_graph=True)
    return torch.stack([g[:, 1], -g[:, 0]], 1)


for _ in range(5):
    x = torch.randn(16, 2, requires_grad=True)
    loss = F.mse_loss(field(x), torch.randn(16, 2))
    opt.zero_grad()
    loss.backward()
    opt.step()
for _ in range(8):
    x = torch.randn(16, 2, requires_grad=True)
    v = field(x).detach()
