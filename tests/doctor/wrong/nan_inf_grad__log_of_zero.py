import torch
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(8):
    x = torch.randn(8, 4)
    p = model(x).relu() if i > 4 else model(x).sigmoid()
    loss = -torch.log(p).mean()  # here
    opt.zero_grad()
    loss.backward()
    opt.step()
