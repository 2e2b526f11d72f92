"""LoRA: B starts at zero (so A's first gradient is exactly zero), the base is frozen; merge at the end."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(119)


class LoRALinear(nn.Module):
    def __init__(self, base, r=4, alpha=8, dropout=0.05):
        super().__init__()
        self.base, self.scale = base, alpha / r
        for p in self.base.parameters():
            p.requires_grad = False
        self.lora_A = nn.Parameter(torch.randn(r, base.in_features) / base.in_features ** 0.5)
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, r))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + self.scale * (self.dropout(x) @ self.lora_A.T @ self.lora_B.T)

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.scale * self.lora_B @ self.lora_A
        return self.base


def inject(model, r):
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, LoRALinear(child, r))
        else:
            inject(child, r)


X = torch.randn(240, 10)
base_y, new_y = X[:, :3].argmax(1), X[:, 1:4].argmax(1)
model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for idx in torch.randperm(240).split(12):
    opt.zero_grad()
    F.cross_entropy(model(X[idx]), base_y[idx]).backward()
    opt.step()

inject(model, r=4)
trainable = [p for p in model.parameters() if p.requires_grad]
print("trainable", sum(p.numel() for p in trainable), "of", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.AdamW(trainable, lr=2e-2)
for epoch in range(4):
    model.train()
    for idx in torch.randperm(200).split(20):
        loss = F.cross_entropy(model(X[idx]), new_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(X[200:]).argmax(1) == new_y[200:]).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
merged = nn.Sequential(*[m.merge() if isinstance(m, LoRALinear) else m for m in model]).eval()
with torch.no_grad():
    print("merged acc", (merged(X[200:]).argmax(1) == new_y[200:]).float().mean().item())
