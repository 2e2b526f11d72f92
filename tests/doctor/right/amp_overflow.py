import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
for i in range(8):
    opt.zero_grad()
    loss = F.mse_loss(model(torch.randn(8, 4)), 100 * torch.randn(8, 1))
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update(2.0**10 if i == 2 else None)
