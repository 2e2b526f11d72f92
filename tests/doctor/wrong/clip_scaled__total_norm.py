import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

scaler = torch.amp.GradScaler("cpu")
net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)


def train_step(batch):
    x, y = batch
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.smooth_l1_loss(net(x).float(), y)
    opt.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    total_norm = torch.sqrt(sum(p.grad.detach().pow(2).sum() for p in net.parameters()))
    if total_norm > 1.0:
        for p in net.parameters():
            p.grad.mul_(1.0 / total_norm)  # here
    scaler.step(opt)
    scaler.update()
    return loss.item()


for i in range(6):
    x = torch.randn(8, 8)
    print(round(train_step((x, x[:, :1])), 4))
