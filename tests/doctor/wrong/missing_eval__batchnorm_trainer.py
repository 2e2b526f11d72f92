import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def conv_bn(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.LeakyReLU(0.1),
    )


class Trainer:
    def __init__(self, model, train_loader, val_loader):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    def train_epoch(self):
        self.model.train()
        for x, y in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validate(self):  # or here
        hits = 0
        for x, y in self.val_loader:  # or here
            out = self.model(x)  # here
            hits += (out.argmax(1) == y).sum().item()
        return hits / len(self.val_loader.dataset)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.train_epoch()
            print(f"epoch {epoch}: val acc {self.validate():.3f}")  # or here


def dataset(n):
    x = torch.randn(n, 1, 8, 8)
    y = (x[:, 0, :, :4].mean((1, 2)) > x[:, 0, :, 4:].mean((1, 2))).long()
    return TensorDataset(x, y)


torch.manual_seed(0)
net = nn.Sequential(
    conv_bn(1, 6), nn.AvgPool2d(2), conv_bn(6, 6), nn.Flatten(), nn.Linear(96, 2)
)
Trainer(
    net,
    DataLoader(dataset(128), batch_size=16, shuffle=True),
    DataLoader(dataset(96), batch_size=16),
).fit(3)
