import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(7, 20),
            nn.Tanh(),
            nn.Linear(20, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(1)


def batch_loss(pred, target):
    errors = []
    for p, t in zip(pred, target):
        errors.append(((p - t) ** 2).item())  # or here
    return torch.tensor(sum(errors) / len(errors), requires_grad=True)  # here


x = torch.randn(128, 7)
y = x[:, 0] - 0.5 * x[:, 3]
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(3):
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = batch_loss(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"Epoch {epoch}: {total / len(loader):.4f}")
