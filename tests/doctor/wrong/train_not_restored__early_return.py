import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters())
best = -1.0


def validate():
    global best
    model.eval()  # here
    with torch.no_grad():
        acc = (model(torch.randn(32, 4)).argmax(1) == 0).float().mean().item()
    if acc <= best:
        return acc
    best = acc
    model.train()
    return acc


model.train()
for step in range(40):
    opt.zero_grad()
    nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    opt.step()
    if step % 4 == 3:
        validate()
