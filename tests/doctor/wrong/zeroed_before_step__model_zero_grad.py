import torch
from torch import nn

model = nn.LSTM(2, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    out, _ = model(torch.randn(5, 3, 2))
    out.pow(2).mean().backward()
    model.zero_grad()  # here
    opt.step()
