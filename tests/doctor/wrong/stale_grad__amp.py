import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
for _ in range(5):
    loss = F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1))
    scaler.scale(loss).backward()  # here
    scaler.step(opt)  # or here
    scaler.update()
