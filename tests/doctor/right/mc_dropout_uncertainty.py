"""MC dropout: predictions with dropout on, on purpose, to measure the spread."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


class Regressor(nn.Module):
    def __init__(self, p=0.1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, 48), nn.ReLU(), nn.Dropout(p),
            nn.Linear(48, 48), nn.ReLU(), nn.Dropout(p),
            nn.Linear(48, 1),
        )

    def forward(self, x):
        return self.net(x)


def enable_dropout(model):
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()


def mc_predict(model, x, passes=25):
    model.eval()
    enable_dropout(model)
    with torch.no_grad():
        samples = torch.stack([model(x) for _ in range(passes)])
    return samples.mean(0), samples.std(0)


x = torch.rand(200, 1) * 4 - 2
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
x_val = torch.linspace(-3, 3, 60).unsqueeze(1)
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
model = Regressor()
opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
for epoch in range(6):
    model.train()
    for xb, yb in loader:
        loss = nn.functional.mse_loss(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    mean, std = mc_predict(model, x_val)
    inside = std[x_val.abs() < 2].mean().item()
    outside = std[x_val.abs() >= 2].mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} spread inside {inside:.3f} outside {outside:.3f}")
