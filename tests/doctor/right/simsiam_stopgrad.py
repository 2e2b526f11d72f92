"""SimSiam: the two views share an encoder; each side's target is detached."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(91)


class SimSiam(nn.Module):
    def __init__(self, dim=16, pred_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(10, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(inplace=True),
            nn.Linear(32, dim, bias=False), nn.BatchNorm1d(dim, affine=False),
        )
        self.predictor = nn.Sequential(
            nn.Linear(dim, pred_dim, bias=False), nn.BatchNorm1d(pred_dim), nn.ReLU(inplace=True),
            nn.Linear(pred_dim, dim),
        )

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        return self.predictor(z1), self.predictor(z2), z1.detach(), z2.detach()


criterion = nn.CosineSimilarity(dim=1)
y = torch.randint(0, 3, (200,))
X = 2 * torch.randn(3, 10)[y] + torch.randn(200, 10)
model = SimSiam()
optimizer = torch.optim.SGD([
    {"params": model.encoder.parameters(), "fix_lr": False},
    {"params": model.predictor.parameters(), "fix_lr": True},
], lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(4):
    model.train()
    for idx in torch.randperm(200).split(20):
        a, b = (X[idx] + 0.3 * torch.randn(20, 10) for _ in range(2))
        p1, p2, z1, z2 = model(a, b)
        loss = -(criterion(p1, z2).mean() + criterion(p2, z1).mean()) * 0.5
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        z = F.normalize(model.encoder(X), dim=1)
        nearest = (z @ z.T - 2 * torch.eye(200)).argmax(1)
    print(f"epoch {epoch} loss {loss.item():.4f} std {z.std(0).mean():.3f} knn {(y[nearest] == y).float().mean():.3f}")
