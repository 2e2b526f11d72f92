import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
ACCUM_STEPS = 3


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 3, padding=1)
        self.c2 = nn.Conv2d(6, 6, 3, padding=1)
        self.fc = nn.Linear(6 * 4, 2)

    def forward(self, x):
        x = F.avg_pool2d(F.gelu(self.c1(x)), 2)
        x = F.avg_pool2d(F.gelu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


def data(n):
    for _ in range(n):
        img = torch.randn(12, 1, 8, 8)
        yield img, (img[:, 0, 0:4].mean((1, 2)) > 0).long()


model = ConvNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)

for epoch in range(2):
    optimizer.zero_grad()
    for i, (images, target) in enumerate(data(18), 1):
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), target)  # or here
        scaler.scale(loss).backward()  # here
        if i % ACCUM_STEPS == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {loss.item():.4f} scale {scaler.get_scale():.0f}")
