import torch
from torch import nn
import torch.nn.functional as F

def build():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


model = build()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)  # here
model = build()  # or here
for _ in range(5):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()
