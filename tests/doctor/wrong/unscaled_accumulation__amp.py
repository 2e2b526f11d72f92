import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for i in range(16):
    loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))  # or here
    scaler.scale(loss).backward()  # here
    if i % 4 == 3:
        scaler.step(opt)
        scaler.update()
        opt.zero_grad()
