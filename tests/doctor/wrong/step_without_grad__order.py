import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    x, y = torch.randn(10, 5), torch.randint(0, 2, (10,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    optimizer.step()  # here
    loss.backward()
