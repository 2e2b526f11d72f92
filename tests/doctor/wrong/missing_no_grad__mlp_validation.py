import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def accuracy(model, loader):  # or here
    model.eval()
    correct = 0
    for xb, yb in loader:  # or here
        scores = model(xb)  # here
        correct += (scores.argmax(dim=1) == yb).sum().item()
    return correct / len(loader.dataset)


def fit(model, train_loader, test_loader, epochs, lr):
    loss_fn = nn.CrossEntropyLoss()
    optim = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        for xb, yb in train_loader:
            optim.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            optim.step()
        acc = accuracy(model, test_loader)  # or here
        print(f"epoch {epoch} train loss {loss.item():.3f} test acc {acc:.3f}")


def main():
    torch.manual_seed(0)
    x = torch.randn(4096, 32)
    y = x[:, :4].argmax(dim=1)
    train_loader = DataLoader(TensorDataset(x[:1024], y[:1024]), batch_size=64, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[1024:], y[1024:]), batch_size=256)
    model = nn.Sequential(
        nn.Linear(32, 256), nn.ReLU(), nn.Dropout(0.1),
        nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 4),
    )
    fit(model, train_loader, test_loader, epochs=3, lr=1e-3)


main()
