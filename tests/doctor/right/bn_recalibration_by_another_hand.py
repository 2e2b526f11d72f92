"""After every epoch the averaged weights get fresh batch-norm statistics (train mode, no gradients), then are evaluated."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)


def build():
    return nn.Sequential(
        nn.Conv1d(2, 8, 3, padding=1, bias=False), nn.BatchNorm1d(8), nn.ReLU(),
        nn.Conv1d(8, 8, 3, padding=1, bias=False), nn.BatchNorm1d(8), nn.ReLU(),
        nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(8, 3),
    )


@torch.no_grad()
def recalibrate(net, loader, n_batches):
    for m in net.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.reset_running_stats()
            m.momentum = None  # cumulative average
    net.train()
    for i, (xb, _) in enumerate(loader):
        if i == n_batches:
            break
        net(xb)
    net.eval()


@torch.no_grad()
def accuracy(net, loader):
    hits = sum((net(xb).argmax(1) == yb).sum().item() for xb, yb in loader)
    return hits / len(loader.dataset)


x = torch.randn(192, 2, 12)
y = torch.randint(0, 3, (192,))
x[:, 0] += y[:, None].float()
train = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=16, shuffle=True)
val = DataLoader(TensorDataset(x[160:], y[160:]), batch_size=32)
net = build()
average = copy.deepcopy(net).requires_grad_(False)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for epoch in range(5):
    net.train()
    for xb, yb in train:
        opt.zero_grad()
        loss = F.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    with torch.no_grad():
        for a, p in zip(average.parameters(), net.parameters()):
            a.lerp_(p, 1.0 / (epoch + 1))
    recalibrate(average, train, n_batches=8)
    net.eval()
    print(f"epoch {epoch} net {accuracy(net, val):.3f} average {accuracy(average, val):.3f}")
