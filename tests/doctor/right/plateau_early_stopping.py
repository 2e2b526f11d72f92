"""LambdaLR warm-up per step, then ReduceLROnPlateau per epoch; early stopping restores the best state's copy."""
import copy
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(113)


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.state = patience, float("inf"), 0, None

    def __call__(self, value, model):
        if value < self.best - 1e-4:
            self.best, self.bad = value, 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def evaluate(model, loader, criterion):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in loader:
            total += criterion(model(x), y).item() * x.size(0)
    return total / len(loader.dataset)


X = torch.randn(130, 12)
y = X[:, :1] - 0.5 * X[:, 1:2] + 0.4 * torch.randn(130, 1)
train = DataLoader(TensorDataset(X[:80], y[:80]), batch_size=10, shuffle=True)
val = DataLoader(TensorDataset(X[80:], y[80:]), batch_size=25)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
warmup_steps = 8
warmup = LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup_steps))
plateau = ReduceLROnPlateau(optimizer, mode="min", factor=0.3, patience=1)
stopper = EarlyStopping(patience=4)
global_step = 0
for epoch in range(25):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        global_step += 1
        if global_step < warmup_steps:
            warmup.step()
    val_loss = evaluate(model, val, criterion)
    plateau.step(val_loss)
    print(f"epoch {epoch} train {loss.item():.4f} val {val_loss:.4f} lr {optimizer.param_groups[0]['lr']:.5f}")
    if stopper(val_loss, model):
        print("early stop")
        break
model.load_state_dict(stopper.state)
print(f"best {evaluate(model, val, criterion):.4f}")
