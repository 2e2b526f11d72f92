import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
a, b = torch.optim.SGD(body.parameters(), lr=0.1), torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(16, 4)
    a.zero_grad()
    loss = nn.functional.cross_entropy(head(body(x).relu()), (x[:, 0] > 0).long())
    loss.backward()  # here
    a.step(); b.step()  # or here
