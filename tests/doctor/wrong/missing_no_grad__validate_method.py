import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 10))
opt = torch.optim.Adam(model.parameters())
train = [(torch.randn(64, 128), torch.randint(0, 10, (64,))) for _ in range(6)]
valid = [(torch.randn(256, 128), torch.randint(0, 10, (256,))) for _ in range(6)]


def validate():
    model.eval()
    losses = []
    for x, y in valid:
        out = model(x)  # here
        losses.append(nn.functional.cross_entropy(out, y).item())
    return sum(losses) / len(losses)


for epoch in range(3):
    model.train()
    for x, y in train:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    validate()
