"""DP-SGD by hand: per-sample gradients are clipped, summed with noise and assigned to .grad."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(13)
max_norm, noise_multiplier = 1.0, 0.3

x = torch.randn(96, 10)
y = (x[:, 0] + x[:, 1] > 0).long()
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(10, 16), nn.Tanh(), nn.Linear(16, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

for epoch in range(3):
    losses = []
    for data, target in loader:
        accumulated = [torch.zeros_like(p) for p in model.parameters()]
        for i in range(len(data)):
            model.zero_grad()
            loss = criterion(model(data[i:i + 1]), target[i:i + 1])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            for acc, p in zip(accumulated, model.parameters()):
                acc.add_(p.grad)
            losses.append(loss.item())
        for acc, p in zip(accumulated, model.parameters()):
            noise = torch.randn_like(acc) * noise_multiplier * max_norm
            p.grad = (acc + noise) / len(data)
        optimizer.step()
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} train acc {acc:.3f}")
