import torch
from torch import nn

torch.manual_seed(0)


class WGANGP:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
        self.D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(.2), nn.Linear(32, 1))
        self.og = torch.optim.Adam(self.G.parameters(), 1e-3, betas=(0., .9))
        self.od = torch.optim.Adam(self.D.parameters(), 1e-3, betas=(0., .9))

    def gp(self, real, fake):
        e = torch.rand(len(real), 1)
        x = (e * real + (1 - e) * fake).requires_grad_()
        out = self.D(x)
        g, = torch.autograd.grad(out, x, torch.ones_like(out), create_graph=True, retain_graph=True, only_inputs=True)
        return ((g.norm(dim=1) - 1) ** 2).mean()

    def d_step(self, real):
        fake = self.G(torch.randn(len(real), 4)).detach()
        self.od.zero_grad()
        self.D(real).mean().neg().backward()
        self.D(fake).mean().backward()
        gp = 10 * self.gp(real, fake)
        gp.backward()
        self.od.step()
        return gp.item()

    def g_step(self, n):
        self.og.zero_grad()
        l = -self.D(self.G(torch.randn(n, 4))).mean()
        l.backward()
        self.og.step()
        return l.item()


w = WGANGP()
for it in range(10):
    for _ in range(3):
        gp = w.d_step(torch.randn(32, 2) * .2 + 1)
    print(it, gp, w.g_step(32))
