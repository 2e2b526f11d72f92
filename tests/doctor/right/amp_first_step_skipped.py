"""Mixed precision with a very large initial scale: the first steps overflow and are skipped by design."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)
X = torch.randn(160, 12)
y = (X[:, 0] - X[:, 3] > 0.2).long()
loader = DataLoader(TensorDataset(X, y), batch_size=16, shuffle=True)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 23)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 8))
skipped = 0
for epoch in range(4):
    for xb, yb in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.amp.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(xb), yb)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scale_before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < scale_before:
            skipped += 1  # overflow: the optimizer did not step, so neither does the schedule
        else:
            scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f} scale {scaler.get_scale():.3g} skipped {skipped}")
