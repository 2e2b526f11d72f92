"""k-fold: a new model, optimizer and scheduler each fold; the folds' models form an ensemble (a plain list)."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Subset, TensorDataset

torch.manual_seed(116)
K = 4


def get_model():
    return nn.Sequential(nn.Linear(7, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))


def kfold(n, k):
    chunks = torch.randperm(n).chunk(k)
    for i in range(k):
        yield torch.cat([c for j, c in enumerate(chunks) if j != i]).tolist(), chunks[i].tolist()


def train_fn(model, loader, optimizer, criterion):
    model.train()
    final_loss = 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        final_loss += loss.item()
    return final_loss / len(loader)


def valid_fn(model, loader):
    model.eval()
    preds = []
    for x, _ in loader:
        with torch.no_grad():
            preds.append(model(x).sigmoid())
    return torch.cat(preds)


X = torch.randn(200, 7)
y = ((X[:, :1] + X[:, 1:2] * X[:, 2:3]) > 0).float()
X_test = torch.randn(50, 7)
y_test = (X_test[:, :1] + X_test[:, 1:2] * X_test[:, 2:3]) > 0
dataset = TensorDataset(X, y)
oof, ensemble = torch.zeros(200, 1), []
for fold, (tr, va) in enumerate(kfold(200, K)):
    train_loader = DataLoader(Subset(dataset, tr), batch_size=15, shuffle=True)
    valid_loader = DataLoader(Subset(dataset, va), batch_size=25)
    model = get_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    for epoch in range(4):
        train_loss = train_fn(model, train_loader, optimizer, nn.BCEWithLogitsLoss())
        scheduler.step()
    oof[va] = valid_fn(model, valid_loader)
    ensemble.append(model)
    print(f"FOLD {fold}: train {train_loss:.4f} valid acc {((oof[va] > 0.5).float() == y[va]).float().mean():.3f}")

for m in ensemble:
    m.eval()
with torch.no_grad():
    blend = torch.stack([m(X_test).sigmoid() for m in ensemble]).mean(0)
print(f"ensemble acc {((blend > 0.5) == y_test).float().mean():.3f}")
