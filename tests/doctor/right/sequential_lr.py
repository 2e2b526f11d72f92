"""SequentialLR: the inner schedulers are built (and step the rate) before training; only the outer one is stepped."""
import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)
epochs, batch = 4, 16
X = torch.randn(192, 8)
y = X @ torch.randn(8, 1) + 0.1 * torch.randn(192, 1)
loader = DataLoader(TensorDataset(X, y), batch_size=batch, shuffle=True)
total, warm = epochs * len(loader), 6

model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
warmup = LinearLR(optimizer, start_factor=0.05, total_iters=warm)
cosine = CosineAnnealingLR(optimizer, T_max=total - warm, eta_min=1e-5)
scheduler = SequentialLR(optimizer, [warmup, cosine], milestones=[warm])
for epoch in range(epochs):
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.2e}")
