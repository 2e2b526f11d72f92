import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Linear(8, 6), nn.Linear(6, 3)
opt = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
x, y = torch.randn(10, 8), torch.randint(0, 3, (10,))
features = torch.relu(backbone(x))  # here
for epoch in range(4):
    loss = nn.functional.cross_entropy(head(features), y)
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
