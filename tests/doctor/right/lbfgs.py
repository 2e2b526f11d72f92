import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)
x, y = torch.randn(16, 4), torch.randn(16, 1)


def closure():
    opt.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(5):
    opt.step(closure)
