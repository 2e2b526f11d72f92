import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn, self.fc = nn.BatchNorm1d(4), nn.Linear(4, 1)

    def forward(self, x):
        return self.fc(self.bn(x))


def validate(model):
    model.eval()  # here
    with torch.no_grad():
        return model(torch.randn(8, 4)).mean().item()


model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model.train()
for epoch in range(3):
    for _ in range(3):
        opt.zero_grad()
        F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
        opt.step()
    validate(model)
