"""CosineAnnealingWarmRestarts.step(epoch + i / iters), phases by set_grad_enabled(phase == 'train')."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(114)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 12, 5, padding=2)
        self.bn = nn.BatchNorm1d(12)
        self.fc = nn.Linear(12 * 8, 3)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.bn(self.conv(x))), 2)
        x = F.dropout(x.flatten(1), p=0.2, training=self.training)
        return self.fc(x)


def make(n):
    y = torch.randint(0, 3, (n,))
    grid = torch.linspace(0, 6.28, 16)
    x = torch.sin((y[:, None] + 1) * grid + torch.rand(n, 1)) + 0.3 * torch.randn(n, 16)
    return TensorDataset(x[:, None], y)


sets = {"train": make(180), "val": make(60)}
loaders = {phase: DataLoader(d, batch_size=15, shuffle=phase == "train") for phase, d in sets.items()}
model = ConvNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=1, T_mult=2, eta_min=1e-4)
for epoch in range(4):
    for phase in ("train", "val"):
        model.train() if phase == "train" else model.eval()
        running_loss, running_corrects = 0.0, 0
        iters = len(loaders[phase])
        for i, (inputs, labels) in enumerate(loaders[phase]):
            optimizer.zero_grad()
            with torch.set_grad_enabled(phase == "train"):
                outputs = model(inputs)
                _, preds = torch.max(outputs, 1)
                loss = F.cross_entropy(outputs, labels)
                if phase == "train":
                    loss.backward()
                    optimizer.step()
                    scheduler.step(epoch + i / iters)
            running_loss += loss.item() * inputs.size(0)
            running_corrects += torch.sum(preds == labels.data)
        n = len(sets[phase])
        print(f"{epoch} {phase} loss {running_loss / n:.4f} acc {running_corrects.double() / n:.3f} "
              f"lr {optimizer.param_groups[0]['lr']:.4f}")
