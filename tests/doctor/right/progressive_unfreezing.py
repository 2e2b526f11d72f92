import torch
import torch.nn.functional as F
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 1)
for p in body.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for i in range(10):
    if i == 5:
        for p in body.parameters():
            p.requires_grad = True
        opt.add_param_group({"params": body.parameters()})
    opt.zero_grad()
    F.mse_loss(head(body(torch.randn(8, 4))), torch.randn(8, 1)).backward()
    opt.step()
