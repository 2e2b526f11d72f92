import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

from torch.amp import GradScaler, autocast
G, D = nn.Linear(4, 2), nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
scaler = GradScaler("cpu", init_scale=256.0)
bce = nn.BCEWithLogitsLoss()
for it in range(6):
    real = torch.randn(16, 2) + 2
    with autocast("cpu", dtype=torch.bfloat16):
        fake = G(torch.randn(16, 4))
        d_loss = bce(D(real).float(), torch.ones(16, 1)) + bce(D(fake.detach()).float(), torch.zeros(16, 1))
    od.zero_grad()
    scaler.scale(d_loss).backward()
    scaler.unscale_(od)
    nn.utils.clip_grad_norm_(D.parameters(), 1.0)
    scaler.step(od)
    with autocast("cpu", dtype=torch.bfloat16):
        g_loss = bce(D(fake).float(), torch.ones(16, 1))
    og.zero_grad()
    scaler.scale(g_loss).backward()
    scaler.step(og)
    scaler.update()
    print(it, f"{d_loss.item():.2f} {g_loss.item():.2f}")
