import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
head = nn.Linear(8, 2)
model = nn.Sequential(backbone, head)
for layer in model[0]:
    layer.requires_grad = False  # here
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(5):
    opt.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(4, 6)), torch.randint(0, 2, (4,))).backward()
    opt.step()
