"""CyclicLR per batch, then SWA with SWALR per epoch and update_bn on the averaged model."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CyclicLR
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(115)
X = torch.randn(260, 8)
Y = (X[:, 0] * 1.5 + X[:, 1] ** 2 - 1 > 0).long()
train = DataLoader(TensorDataset(X[:200], Y[:200]), batch_size=20, shuffle=True)
test = DataLoader(TensorDataset(X[200:], Y[200:]), batch_size=30)


@torch.no_grad()
def accuracy(net):
    net.eval()
    return sum((net(x).argmax(1) == y).sum().item() for x, y in test) / 60


model = nn.Sequential(nn.Linear(8, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
cyclic = CyclicLR(optimizer, base_lr=0.01, max_lr=0.1, step_size_up=len(train) // 2, mode="triangular2")
swa_model = AveragedModel(model)
swa_scheduler, swa_start, epochs = None, 3, 6

for epoch in range(epochs):
    in_swa = epoch >= swa_start
    if in_swa and swa_scheduler is None:
        swa_scheduler = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)
    model.train()
    for x, y in train:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if not in_swa:
            cyclic.step()
    if in_swa:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {accuracy(model):.3f} lr {optimizer.param_groups[0]['lr']:.4f}")
update_bn(train, swa_model)
print(f"swa acc {accuracy(swa_model):.3f}")
