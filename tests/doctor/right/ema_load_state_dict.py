"""EMA weights are kept in a dict and loaded into a frozen copy for evaluation."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.eval_model = copy.deepcopy(model).eval()
        for p in self.eval_model.parameters():
            p.requires_grad_(False)

    def update(self, model):
        with torch.no_grad():
            for k, v in model.state_dict().items():
                if v.dtype.is_floating_point:
                    self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)
                else:
                    self.shadow[k].copy_(v)

    def sync(self):
        self.eval_model.load_state_dict(self.shadow)
        return self.eval_model


X = torch.randn(220, 1, 6, 6)
Y = X.flatten(1)[:, :3].argmax(1)
train = DataLoader(TensorDataset(X[:180], Y[:180]), batch_size=18, shuffle=True)
val = DataLoader(TensorDataset(X[180:], Y[180:]), batch_size=20)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Dropout(0.1), nn.Linear(8 * 16, 3)
)
ema = EMA(model)
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(5):
    model.train()
    for xb, yb in train:
        opt.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        opt.step()
        ema.update(model)
    net = ema.sync()
    loss, hits = 0.0, 0
    for xb, yb in val:
        with torch.no_grad():
            out = net(xb)
        loss += F.cross_entropy(out, yb, reduction="sum").item()
        hits += (out.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} ema val loss {loss / 40:.4f} acc {hits / 40:.3f}")
