"""zero_grad at the end of the iteration, inside a Trainer with callbacks."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(40)


class Callback:
    def on_epoch_end(self, trainer, epoch, logs): ...


class Printer(Callback):
    def on_epoch_end(self, trainer, epoch, logs):
        print(f"epoch {epoch} " + " ".join(f"{k}={v:.4f}" for k, v in logs.items()))


class Trainer:
    def __init__(self, model, optimizer, loss_fn, callbacks=()):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.callbacks = callbacks

    def _run(self, loader, train):
        self.model.train(train)
        total, n = 0.0, 0
        with torch.set_grad_enabled(train):
            for xb, yb in loader:
                loss = self.loss_fn(self.model(xb), yb)
                if train:
                    loss.backward()
                    self.optimizer.step()
                    self.optimizer.zero_grad()
                total += loss.item() * len(xb)
                n += len(xb)
        return total / n

    def fit(self, train_loader, val_loader, epochs):
        for epoch in range(epochs):
            logs = {"train": self._run(train_loader, True), "val": self._run(val_loader, False)}
            for cb in self.callbacks:
                cb.on_epoch_end(self, epoch, logs)


X = torch.rand(260, 5)
y = (X[:, :1] * X[:, 1:2] + X[:, 2:3]).sqrt()
model = nn.Sequential(nn.Linear(5, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.05), nn.Linear(32, 1))
trainer = Trainer(model, torch.optim.Adam(model.parameters(), lr=5e-3), nn.MSELoss(), [Printer()])
trainer.fit(
    DataLoader(TensorDataset(X[:200], y[:200]), batch_size=20, shuffle=True),
    DataLoader(TensorDataset(X[200:], y[200:]), batch_size=30),
    epochs=4,
)
