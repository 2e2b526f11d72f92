import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def make_data(n=320):
    x = torch.randn(n, 8)
    y = (x[:, :1] * 2 - x[:, 1:2]).tanh()
    return TensorDataset(x, y)


def train(model, loader, optimizer, criterion, epochs):
    for epoch in range(epochs):  # or here
        total = 0.0
        for xb, yb in loader:  # or here
            pred = model(xb)
            loss = criterion(pred, yb)
            loss.backward()  # here
            optimizer.step()  # or here
            total += loss.item() * xb.size(0)
        print(f"epoch {epoch} loss {total / len(loader.dataset):.4f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_data(), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    train(model, loader, optimizer, nn.MSELoss(), epochs=3)


if __name__ == "__main__":
    main()
