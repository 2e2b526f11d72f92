import itertools
import torch
from torch import nn

torch.manual_seed(0)
gab, gba, da, db = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
opt_g = torch.optim.Adam(itertools.chain(gab.parameters(), gba.parameters()), lr=2e-4, betas=(0.5, 0.999))
opt_da, opt_db = torch.optim.Adam(da.parameters(), 2e-4), torch.optim.Adam(db.parameters(), 2e-4)
mse, l1 = nn.MSELoss(), nn.L1Loss()
one, zero = torch.ones(6, 1), torch.zeros(6, 1)
for step in range(8):
    a, b = torch.randn(6, 3), torch.randn(6, 3)
    opt_g.zero_grad()
    fb, fa = gab(a), gba(b)
    loss_g = mse(db(fb), one) + mse(da(fa), one) + 10 * (l1(gba(fb), a) + l1(gab(fa), b)) + 5 * l1(gba(a), a)
    loss_g.backward()
    opt_g.step()
    opt_da.zero_grad()
    loss_da = (mse(da(a), one) + mse(da(fa.detach()), zero)) / 2
    loss_da.backward()
    opt_da.step()
    opt_db.zero_grad()
    loss_db = (mse(db(b), one) + mse(db(fb.detach()), zero)) / 2
    loss_db.backward()
    opt_db.step()
