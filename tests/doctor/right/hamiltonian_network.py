import torch
from torch import nn

torch.manual_seed(0)
H = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(H.parameters(), lr=1e-2)


def field(x, train):
    x = x.detach().requires_grad_(True)
    dH = torch.autograd.grad(H(x).sum(), x, create_graph=train)[0]
    return torch.stack([dH[:, 1], -dH[:, 0]], 1)


for step in range(10):
    x = torch.randn(16, 2)
    dx = torch.stack([x[:, 1], -x[:, 0]], 1)
    loss = (field(x, True) - dx).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
state = torch.tensor([[1.0, 0.0]])
for t in range(10):
    state = state + 0.1 * field(state, False).detach()
