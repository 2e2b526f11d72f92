import torch
from torch import nn

model = nn.LSTM(2, 4)
opt = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(5):
    out, _ = model(torch.randn(5, 3, 2))
    opt.zero_grad()
    out.pow(2).mean().backward()
    opt.step()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)  # here
