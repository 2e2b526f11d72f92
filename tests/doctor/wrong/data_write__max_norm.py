import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class MaxNormNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(10, 40)
        self.fc2 = nn.Linear(40, 40)
        self.fc3 = nn.Linear(40, 3)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        return self.fc3(torch.tanh(self.fc2(x)))

    def constrain(self, limit):
        for layer in (self.fc2, self.fc3):
            norm = layer.weight.detach().norm(dim=1, keepdim=True)
            layer.weight.data.mul_((limit / norm).clamp(max=1.0))  # here


x = torch.randn(240, 10)
y = x[:, :3].argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)
model = MaxNormNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)

for epoch in range(3):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        model.constrain(0.5)  # or here
        loss.backward()  # or here
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")
