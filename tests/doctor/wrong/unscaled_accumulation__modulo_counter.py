import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
ACCUM = 8

X = torch.randn(512, 12)
y = X[:, :3].sum(1, keepdim=True)
loader = DataLoader(TensorDataset(X, y), batch_size=8, shuffle=True)
val_loader = DataLoader(TensorDataset(X[:64], y[:64]), batch_size=32)

model = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()


def train_one_epoch(epoch):
    model.train()
    optimizer.zero_grad()
    running = 0.0
    for i, (inputs, targets) in enumerate(loader):
        outputs = model(inputs)
        loss = criterion(outputs, targets)  # or here
        loss.backward()  # here
        running += loss.item()
        if (i + 1) % ACCUM == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} train mse {running / len(loader):.4f}")


@torch.no_grad()
def validate():
    model.eval()
    return sum(criterion(model(a), b).item() for a, b in val_loader) / len(val_loader)


for epoch in range(4):
    train_one_epoch(epoch)
    print(f"  val mse {validate():.4f}")
