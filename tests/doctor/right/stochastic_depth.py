"""Residual net with stochastic depth: whole blocks are skipped at random."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(3)


class DropBlock(nn.Module):
    def __init__(self, width, survival):
        super().__init__()
        self.survival = survival
        self.norm = nn.LayerNorm(width)
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        if self.training and torch.rand(()).item() > self.survival:
            return x
        y = self.fc2(torch.relu(self.fc1(self.norm(x))))
        if self.training:
            y = y / self.survival
        return x + y


class StochasticDepthNet(nn.Module):
    def __init__(self, depth=6, width=24):
        super().__init__()
        probs = torch.linspace(1.0, 0.15, depth).tolist()
        self.stem = nn.Linear(10, width)
        self.blocks = nn.Sequential(*[DropBlock(width, p) for p in probs])
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


x = torch.randn(240, 10)
y = (x[:, :3] + 0.3 * torch.randn(240, 3)).argmax(1)
train_set, val_set = random_split(TensorDataset(x, y), [200, 40])
train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
val_loader = DataLoader(val_set, batch_size=40)

model = StochasticDepthNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(4):
    model.train()
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    correct = 0
    with torch.no_grad():
        for xb, yb in val_loader:
            correct += (model(xb).argmax(1) == yb).sum().item()
    print(f"epoch {epoch}: train {loss.item():.4f} val acc {correct / len(val_set):.3f}")
