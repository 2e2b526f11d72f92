import torch
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 2)
for p in body.parameters():
    p.require_grad = False  # here
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for _ in range(6):
    opt.zero_grad()
    nn.functional.cross_entropy(head(body(torch.randn(8, 4))), torch.randint(0, 2, (8,))).backward()
    opt.step()
