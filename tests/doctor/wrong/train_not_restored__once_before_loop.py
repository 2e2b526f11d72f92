import torch
from torch import nn
import torch.nn.functional as F

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)


def accuracy(m):
    m.eval()  # here
    with torch.no_grad():
        return F.mse_loss(m(x), y).item()


best = None
for step in range(20):
    opt.zero_grad()
    F.mse_loss(model(x), y).backward()
    opt.step()
    if step % 5 == 0:
        best = accuracy(model)
