import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    for p in model.parameters():
        p.data.clamp_(-0.1, 0.1)  # here
    opt.zero_grad()
    loss.backward()
    opt.step()
