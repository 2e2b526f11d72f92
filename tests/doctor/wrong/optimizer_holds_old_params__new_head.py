import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)  # here
model[2] = nn.Linear(8, 5)  # or here
for _ in range(5):
    opt.zero_grad()
    F.cross_entropy(model(torch.randn(8, 4)), torch.randint(5, (8,))).backward()
    opt.step()
