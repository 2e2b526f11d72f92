import torch
from torch import nn
import torch.nn.functional as F

a, b = nn.Linear(4, 4), nn.Linear(4, 1)
opt_a, opt_b = torch.optim.SGD(a.parameters(), lr=0.1), torch.optim.SGD(b.parameters(), lr=0.1)
for _ in range(5):
    opt_a.zero_grad()
    opt_b.zero_grad()
    loss = F.mse_loss(b(a(torch.randn(8, 4)).detach()), torch.randn(8, 1))  # here
    loss.backward()
    opt_b.step()
    opt_a.step()
