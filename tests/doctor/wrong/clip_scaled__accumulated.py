import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for i in range(12):
    loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)) / 2
    scaler.scale(loss).backward()
    if i % 2:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)  # here
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
