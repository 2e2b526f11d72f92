import torch
from torch import nn


def penalty(critic, real, fake):
    a = torch.rand(len(real), 1)
    x = (a * real + (1 - a) * fake).requires_grad_()
    out = critic(x)
    g = torch.autograd.grad(outputs=out, inputs=x, grad_outputs=torch.ones_like(out))[0]  # here
    return ((g.norm(2, dim=1) - 1) ** 2).mean()


critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters(), 1e-3)
for _ in range(5):
    real, fake = torch.randn(8, 3), torch.randn(8, 3)
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty(critic, real, fake)
    opt.zero_grad()
    loss.backward()
    opt.step()
