import torch
from torch import nn


def evaluate(model, data):
    model.eval()  # here
    with torch.no_grad():
        return sum(nn.functional.cross_entropy(model(x), y).item() for x, y in data)


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.Adam(model.parameters())
data = [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(6)]
model.train()
for epoch in range(4):
    for x, y in data:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    evaluate(model, data)
