import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Pretrained(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.GELU(), nn.AdaptiveAvgPool2d(2), nn.Flatten()
        )
        self.classifier = nn.Linear(32, 10)

    def forward(self, x):
        return self.classifier(self.backbone(x))


def build_finetune_model(n_classes):
    model = Pretrained()
    model.backbone.requires_grad = False  # here
    model.classifier = nn.Linear(32, n_classes)
    return model


images = torch.randn(160, 3, 8, 8)
labels = images.mean((2, 3)).argmax(1)
loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
model = build_finetune_model(3)
before = model.backbone[0].weight.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    drift = (model.backbone[0].weight.detach() - before).norm().item()
    print(f"epoch {epoch} loss {loss.item():.4f} backbone drift {drift:.4f}")
