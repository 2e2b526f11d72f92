import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(12, 48)
        self.bn = nn.BatchNorm1d(48)
        self.drop = nn.Dropout(0.2)
        self.fc2 = nn.Linear(48, 4)

    def forward(self, x):
        return self.fc2(self.drop(torch.tanh(self.bn(self.fc1(x)))))


def validate(model, loader):
    model.eval()  # or here
    correct = 0
    with torch.no_grad():
        for x, y in loader:
            correct += (model(x).argmax(1) == y).sum().item()
    return correct / len(loader.dataset)


x = torch.randn(400, 12)
y = x[:, :4].argmax(1)
train_dl = DataLoader(TensorDataset(x[:320], y[:320]), batch_size=32, shuffle=True)
val_dl = DataLoader(TensorDataset(x[320:], y[320:]), batch_size=40)
model = MLP()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)

model.train()  # or here
for epoch in range(4):  # or here
    for xb, yb in train_dl:  # or here
        loss = F.cross_entropy(model(xb), yb)  # or here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} val acc {validate(model, val_dl):.3f}")  # here
