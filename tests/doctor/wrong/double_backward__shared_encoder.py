import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(6, 4)
heads = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 3)])
opt = torch.optim.SGD([*encoder.parameters(), *heads.parameters()], lr=0.1)
for _ in range(3):
    x = torch.randn(5, 6)
    z = torch.tanh(encoder(x))  # or here
    opt.zero_grad()
    for head in heads:
        nn.functional.cross_entropy(head(z), torch.zeros(5, dtype=torch.long)).backward()  # here
    opt.step()
