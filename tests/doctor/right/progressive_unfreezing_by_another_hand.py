"""ULMFiT-style fine-tuning: thaw one block every two epochs. The optimizer knows all parameters from the start."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)


def make_backbone():
    return nn.Sequential(
        nn.Sequential(nn.Linear(12, 32), nn.Tanh()),
        nn.Sequential(nn.Linear(32, 32), nn.Tanh()),
        nn.Sequential(nn.Linear(32, 16), nn.Tanh()),
    )


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = make_backbone()
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.backbone(x))

    def unfreeze_top(self, n):
        for block in list(self.backbone)[len(self.backbone) - n:]:
            for p in block.parameters():
                p.requires_grad = True


pretrained = make_backbone().state_dict()
model = Classifier()
model.backbone.load_state_dict(pretrained)
for p in model.backbone.parameters():
    p.requires_grad = False

groups = [{"params": model.head.parameters(), "lr": 1e-2}]
for depth, block in enumerate(reversed(list(model.backbone))):
    groups.append({"params": block.parameters(), "lr": 1e-2 / 2.6 ** (depth + 1)})
optimizer = torch.optim.AdamW(groups, weight_decay=0.01)

X = torch.randn(160, 12)
Y = ((X[:, 0] * X[:, 1]) > 0).long()
loader = DataLoader(TensorDataset(X, Y), batch_size=16, shuffle=True)
for epoch in range(8):
    if epoch and epoch % 2 == 0:
        model.unfreeze_top(epoch // 2)
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * xb.size(0)
    n_train = sum(p.numel() for p in model.parameters() if p.requires_grad)
    print(f"epoch {epoch} trainable {n_train} loss {running / len(X):.4f}")
