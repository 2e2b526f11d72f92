import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
x, y = torch.randn(16, 4), torch.randn(16, 1)


def closure():
    loss = F.mse_loss(model(x), y)
    loss.backward()  # here
    return loss


for _ in range(4):
    opt.step(closure)  # or here
