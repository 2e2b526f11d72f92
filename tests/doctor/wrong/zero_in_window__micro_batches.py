import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class PatchNet(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.patch = nn.Conv2d(1, dim, 4, stride=4)
        self.mix = nn.TransformerEncoderLayer(dim, 2, 48, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, 2)

    def forward(self, x):
        tokens = self.patch(x).flatten(2).transpose(1, 2)
        return self.head(self.mix(tokens).mean(dim=1))


def train(model, loader, optimizer, accum_iter):
    model.train()
    total = 0.0
    for batch_idx, (inputs, labels) in enumerate(loader):
        optimizer.zero_grad()  # here
        loss = F.cross_entropy(model(inputs), labels) / accum_iter
        loss.backward()  # or here
        total += loss.item() * accum_iter
        if (batch_idx + 1) % accum_iter == 0 or batch_idx + 1 == len(loader):
            optimizer.step()  # or here
    return total / len(loader)


def main():
    torch.manual_seed(0)
    x = torch.randn(192, 1, 8, 8)
    y = (x[:, 0, :4].mean((1, 2)) > 0).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True)
    model = PatchNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(3):
        print(f"epoch {epoch} loss {train(model, loader, optimizer, accum_iter=4):.4f}")


main()
