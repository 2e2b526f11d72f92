import torch
from torch import nn

cell, head = nn.GRUCell(3, 6), nn.Linear(6, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
h = torch.zeros(4, 6)
for chunk in range(4):
    h.detach()  # here
    loss = 0
    for t in range(3):
        h = cell(torch.randn(4, 3), h)
        loss = loss + head(h).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
