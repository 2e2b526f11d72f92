"""A learning-rate range test on a copy (exponential rate per batch), then training with OneCycleLR per batch."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import ExponentialLR, OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(112)


def range_test(model, loader, lr_min=1e-4, lr_max=1.0, steps=20):
    probe = copy.deepcopy(model)
    opt = torch.optim.SGD(probe.parameters(), lr=lr_min, momentum=0.9)
    sched = ExponentialLR(opt, gamma=(lr_max / lr_min) ** (1 / (steps - 1)))
    lrs, losses, best = [], [], float("inf")
    it = iter(loader)
    for _ in range(steps):
        try:
            x, y = next(it)
        except StopIteration:
            it = iter(loader)
            x, y = next(it)
        opt.zero_grad()
        loss = F.cross_entropy(probe(x), y)
        loss.backward()
        lrs.append(opt.param_groups[0]["lr"])
        losses.append(loss.item())
        best = min(best, losses[-1])
        if losses[-1] > 4 * best:
            break
        opt.step()
        sched.step()
    return lrs[min(range(len(losses)), key=losses.__getitem__)] / 5


X = torch.randn(300, 10)
Y = (X[:, :4] + 0.2 * torch.randn(300, 4)).argmax(1)
loader = DataLoader(TensorDataset(X[:240], Y[:240]), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 4))
lr = range_test(model, loader)
print(f"suggested lr {lr:.4f}")

epochs = 4
optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
scheduler = OneCycleLR(optimizer, max_lr=lr * 2, epochs=epochs, steps_per_epoch=len(loader))
for epoch in range(epochs):
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
    with torch.inference_mode():
        acc = (model(X[240:]).argmax(1) == Y[240:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} val acc {acc:.3f} lr {scheduler.get_last_lr()[0]:.5f}")
