import torch
from torch import nn

torch.manual_seed(0)
gen, disc = nn.Linear(3, 4), nn.Linear(4, 1)
og = torch.optim.RMSprop(gen.parameters(), lr=1e-3)
od = torch.optim.RMSprop(disc.parameters(), lr=1e-3)
for i in range(10):
    z, real = torch.randn(8, 3), torch.randn(8, 4)
    d_loss = disc(gen(z).detach()).mean() - disc(real).mean()
    d_loss.backward()  # or here
    od.step()  # or here
    og.zero_grad()
    od.zero_grad()
    g_loss = -disc(gen(z)).mean()
    g_loss.backward()  # here
    og.step()
