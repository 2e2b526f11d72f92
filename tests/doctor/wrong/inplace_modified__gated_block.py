import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class GatedBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.value = nn.Linear(dim, dim)
        self.gate = nn.Linear(dim, dim)
        self.usage = 0.0

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))  # or here
        out = g * self.value(x)
        g.clamp_(min=0.05)  # here
        self.usage = g.detach().mean().item()
        return x + out


class Model(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.blocks = nn.ModuleList(GatedBlock(dim) for _ in range(2))
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x).squeeze(-1)


def main():
    torch.manual_seed(0)
    x = torch.randn(160, 12)
    loader = DataLoader(TensorDataset(x, x[:, 0] * x[:, 1]), batch_size=16, shuffle=True)
    model = Model()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for xb, yb in loader:
            loss = nn.functional.mse_loss(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print("epoch", epoch, loss.item(), [b.usage for b in model.blocks])


main()
