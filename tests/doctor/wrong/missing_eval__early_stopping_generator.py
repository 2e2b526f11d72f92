import copy

import torch
from torch import nn


def epochs_until_worse(validate, train, patience, limit):
    best, bad = float("inf"), 0
    for epoch in range(limit):
        train()
        score = validate()  # or here
        best, bad = (score, 0) if score < best else (best, bad + 1)
        yield epoch, score, bad == 0
        if bad > patience:
            return


def make_phases(model, optimizer, train_data, val_data):
    loss_fn = nn.SmoothL1Loss()

    def train():
        model.train()
        x, y = train_data
        for idx in torch.randperm(len(x)).split(25):
            optimizer.zero_grad()
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()

    @torch.no_grad()
    def validate():  # or here
        total = 0.0
        for x, y in zip(*(t.split(10) for t in val_data)):  # or here
            total += loss_fn(model(x), y).item() * len(x)  # here
        return total / len(val_data[0])

    return validate, train


torch.manual_seed(0)
x = torch.randn(300, 9)
y = (x[:, :3] * x[:, 3:6]).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(9, 48), nn.SiLU(), nn.Dropout(0.15), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
phases = make_phases(model, optimizer, (x[:250], y[:250]), (x[250:], y[250:]))
best_state = None
for epoch, score, improved in epochs_until_worse(*phases, patience=2, limit=8):
    if improved:
        best_state = copy.deepcopy(model.state_dict())
    print(f"epoch {epoch} val {score:.4f}{' *' if improved else ''}")
model.load_state_dict(best_state)
