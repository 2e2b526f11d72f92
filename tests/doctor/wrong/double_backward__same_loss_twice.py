import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = F.mse_loss(model(torch.randn(8, 4)).tanh(), torch.randn(8, 1))  # or here
for _ in range(3):
    opt.zero_grad()
    loss.backward()  # here
    opt.step()
