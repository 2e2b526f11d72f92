import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.fc = nn.Linear(4 * 36, 2)

    def forward(self, x):
        return self.fc(F.elu(self.conv(x)).flatten(1))


def input_gradient(model, data, target, eps):
    data = data.clone().requires_grad_()
    noisy = (data + eps * torch.randn_like(data)).clamp(0, 1)  # or here
    loss = F.cross_entropy(model(noisy), target)
    loss.backward()
    return noisy.grad.sign()  # here


def train_adversarial(model, loader, optimizer, eps=0.1):
    for epoch in range(2):
        for x, y in loader:
            direction = input_gradient(model, x, y, eps)
            x_adv = (x + eps * direction).clamp(0, 1)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x_adv), y)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} adversarial loss {loss.item():.4f}")


x = torch.rand(160, 1, 6, 6)
y = (x[:, 0, :3].mean((1, 2)) > x[:, 0, 3:].mean((1, 2))).long()
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train_adversarial(model, DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True), optimizer)
