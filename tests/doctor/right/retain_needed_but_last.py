import torch
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    out = model(torch.randn(8, 4))
    opt.zero_grad()
    for k in range(3):
        (out * (k + 1) / 6).mean().backward(retain_graph=True)
    opt.step()
