import torch
from torch import nn
import torch.nn.functional as F

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(8):
    loss1, loss2 = model(torch.randn(8, 4)).pow(2).mean(), model(torch.randn(8, 4)).abs().mean()
    opt.zero_grad()
    loss1.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # here
    loss2.backward()
    opt.step()
