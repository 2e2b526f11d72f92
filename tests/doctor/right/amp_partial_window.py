"""AMP with accumulation over 4 micro-batches; the last, shorter window is divided by its own length and stepped."""
from dataclasses import dataclass
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(117)


@dataclass
class TrainConfig:
    accumulation: int = 4
    batch_size: int = 8
    lr: float = 5e-3
    epochs: int = 4
    max_norm: float = 1.0


class AMPTrainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        self.criterion = nn.CrossEntropyLoss()

    def optimizer_step(self):
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return norm.item()

    def train_epoch(self, loader):
        self.model.train()
        n, acc = len(loader), self.cfg.accumulation
        tail = n % acc
        total, norms = 0.0, []
        for i, (x, y) in enumerate(loader):
            window = tail if tail and i >= n - tail else acc
            with torch.amp.autocast("cpu", dtype=torch.bfloat16):
                loss = self.criterion(self.model(x), y)
            self.scaler.scale(loss / window).backward()
            total += loss.item()
            if (i + 1) % acc == 0 or i + 1 == n:
                norms.append(self.optimizer_step())
        return total / n, sum(norms) / len(norms), len(norms)


X = torch.randn(176, 10)                      # 22 micro-batches: five full windows and one of two
Y = (X[:, :3] + 0.5 * X[:, 3:6]).argmax(1)
cfg = TrainConfig()
loader = DataLoader(TensorDataset(X, Y), batch_size=cfg.batch_size, shuffle=True)
trainer = AMPTrainer(nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 3)), cfg)
for epoch in range(cfg.epochs):
    loss, norm, steps = trainer.train_epoch(loader)
    print(f"epoch {epoch} loss {loss:.4f} grad norm {norm:.3f} steps {steps} scale {trainer.scaler.get_scale():.0f}")
