import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
    for p in model.parameters():
        p.grad = None  # here
    opt.step()
