import torch
from torch import nn


def make_stepper(model, optimizer):
    smooth = None

    def step(x, y):
        nonlocal smooth
        optimizer.zero_grad()
        loss = nn.functional.l1_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if smooth is None:
            smooth = loss.detach()
        else:
            smooth = 0.95 * smooth + 0.05 * loss  # here
        return smooth

    return step


def stream(n, batch):
    w = torch.linspace(-1, 1, 6).unsqueeze(1)
    for _ in range(n):
        x = torch.randn(batch, 6)
        yield x, x @ w


torch.manual_seed(11)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
step = make_stepper(model, optimizer)
for i, (x, y) in enumerate(stream(40, 32), 1):
    smoothed = step(x, y)
    if i % 10 == 0:
        print(f"iter {i:3d}  smoothed loss {smoothed.item():.4f}")
