"""A torch.compile'd model and step (eager backend), optimizer outside the compiled part."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(125)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.fc2(F.gelu(self.fc1(x)))


model = MLP()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)


def compute_loss(x, y):
    return F.cross_entropy(model(x), y)


compiled_loss = torch.compile(compute_loss, backend="eager")
X = torch.randn(200, 8)
Y = (X[:, 0] > X[:, 1]).long()
for epoch in range(4):
    running = torch.zeros(())
    for idx in torch.randperm(160).split(16):
        optimizer.zero_grad(set_to_none=True)
        loss = compiled_loss(X[idx], Y[idx])
        loss.backward()
        optimizer.step()
        running += loss.detach()
    with torch.no_grad():
        acc = (model(X[160:]).argmax(1) == Y[160:]).float().mean()
    print(f"epoch {epoch} loss {running.item() / 10:.4f} acc {acc.item():.3f}")
