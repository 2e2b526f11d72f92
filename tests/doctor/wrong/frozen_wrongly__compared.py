import torch
from torch import nn

backbone, head = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), nn.Linear(8, 2)
for p in backbone.parameters():
    p.requires_grad == False  # here
opt = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
for _ in range(6):
    opt.zero_grad()
    nn.functional.cross_entropy(head(backbone(torch.randn(8, 4))), torch.randint(0, 2, (8,))).backward()
    opt.step()
