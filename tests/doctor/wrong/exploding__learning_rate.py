import torch
import torch.nn as nn

torch.manual_seed(0)


def housing(n):
    rooms = torch.randint(1, 6, (n, 1)).float()
    age = torch.rand(n, 1) * 10
    price = 50 * rooms - 2 * age + 5 * torch.randn(n, 1)
    return torch.cat([rooms, age], dim=1), price / 100


class LinearModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 1)

    def forward(self, x):
        return self.linear(x)


model = LinearModel()
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # here
x, y = housing(200)

for epoch in range(2):
    for xb, yb in zip(x.split(20), y.split(20)):
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)  # or here
        loss.backward()  # or here
        optimizer.step()  # or here
    print(f"epoch {epoch} loss {loss.item():.4g}")
