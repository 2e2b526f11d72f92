import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
X = torch.randn(400, 6)
y = 3 * X[:, 0] - 2 * X[:, 1] + 0.1 * torch.randn(400)
train_ds, val_ds = random_split(TensorDataset(X, y), [320, 80])
train_loader = DataLoader(train_ds, batch_size=64, shuffle=True)
val_loader = DataLoader(val_ds, batch_size=40)

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(5):
    model.train()
    for xb, yb in train_loader:
        pred = model(xb)  # or here
        loss = criterion(pred, yb)  # here
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    sq = 0.0
    with torch.no_grad():
        for xb, yb in val_loader:
            sq += (model(xb).squeeze(1) - yb).pow(2).sum().item()
    print(f"epoch {epoch} val mse {sq / len(val_ds):.4f}")
