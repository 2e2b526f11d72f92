import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    errors = []
    for xi, yi in zip(x, y):
        errors.append(((model(xi) - yi) ** 2).item())  # here
    loss = torch.tensor(errors, requires_grad=True).mean()  # or here
    opt.zero_grad()
    loss.backward()
    opt.step()
