"""Sharpness-aware minimization: two forward/backward passes per update, weights moved and restored."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(7)


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(torch.stack([
            p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None
        ]), p=2)
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()


X = torch.randn(200, 6)
Y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).long()
loader = DataLoader(TensorDataset(X, Y), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
for epoch in range(4):
    running = 0.0
    for xb, yb in loader:
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.first_step(zero_grad=True)
        criterion(model(xb), yb).backward()
        optimizer.second_step(zero_grad=True)
        running += loss.item()
    print(f"epoch {epoch} loss {running / len(loader):.4f}")
