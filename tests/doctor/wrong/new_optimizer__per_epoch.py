import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def train_one_epoch(model, loader, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)  # here
    criterion = nn.CrossEntropyLoss()
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    correct = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    x = torch.randn(360, 7)
    y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
    train_dl = DataLoader(TensorDataset(x[:300], y[:300]), batch_size=30, shuffle=True)
    val_dl = DataLoader(TensorDataset(x[300:], y[300:]), batch_size=30)
    model = nn.Sequential(nn.Linear(7, 32), nn.ELU(), nn.Linear(32, 2))
    best = 0.0
    for epoch in range(6):
        loss = train_one_epoch(model, train_dl, lr=3e-3)  # or here
        acc = evaluate(model, val_dl)
        best = max(best, acc)
        print(f"epoch {epoch} loss {loss:.4f} val {acc:.3f} best {best:.3f}")


if __name__ == "__main__":
    main()
