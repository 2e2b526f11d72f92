import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
scheduler = torch.optim.lr_scheduler.StepLR(opt, 3)
for i in range(16):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)) / 2
    scaler.scale(loss).backward()
    if i % 2 == 1:
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
        scheduler.step()
