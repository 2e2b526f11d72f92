import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(model, loader, optimizer, scaler, max_norm):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
            loss = nn.functional.mse_loss(out.float(), y)
        scaler.scale(loss).backward()  # or here
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # here
        scaler.step(optimizer)  # or here
        scaler.update()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    x = torch.randn(256, 10)
    y = torch.cat([x[:, :1] * x[:, 1:2], x.mean(1, keepdim=True)], dim=1)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
    for epoch in range(3):
        print(f"epoch {epoch} loss {train_epoch(model, loader, optimizer, scaler, 1.0):.4f}")


if __name__ == "__main__":
    main()
