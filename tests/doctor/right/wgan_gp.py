import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
D = nn.Sequential(nn.Linear(3, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-4, betas=(0.5, 0.9)), torch.optim.Adam(D.parameters(), 1e-4)
for step in range(15):
    real = torch.randn(8, 3)
    od.zero_grad()
    fake = G(torch.randn(8, 4)).detach()
    alpha = torch.rand(8, 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    g = torch.autograd.grad(D(mixed), mixed, torch.ones(8, 1), create_graph=True, retain_graph=True)[0]
    d_loss = D(fake).mean() - D(real).mean() + 10 * ((g.norm(2, dim=1) - 1) ** 2).mean()
    d_loss.backward()
    od.step()
    if step % 3 == 0:
        og.zero_grad()
        (-D(G(torch.randn(8, 4))).mean()).backward()
        og.step()
