"""BatchNorm and dropout under one optimizer; the last batch is smaller; evaluation at the end."""

import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.003, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.003, weight_decay=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.001, eps=1e-4, momentum=0.5, centered=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.02, lr_decay=0.01),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4),
}

parser = argparse.ArgumentParser()
parser.add_argument("optimizer", choices=OPTIMIZERS)
args = parser.parse_args()

torch.manual_seed(3)
labels = torch.randint(0, 5, (390,))
images = torch.rand(5, 1, 8, 8)[labels] + 0.3 * torch.randn(390, 1, 8, 8)
loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1, bias=False),
    nn.BatchNorm2d(8),
    nn.ReLU(inplace=True),
    nn.Dropout2d(0.1),
    nn.AvgPool2d(2),
    nn.Flatten(),
    nn.Linear(128, 32, bias=False),
    nn.BatchNorm1d(32),
    nn.LeakyReLU(0.1),
    nn.Dropout(0.5),
    nn.Linear(32, 5),
)
nn.init.kaiming_normal_(model[0].weight, nonlinearity="relu")
nn.init.xavier_uniform_(model[-1].weight)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = OPTIMIZERS[args.optimizer](model.parameters())
for epoch in range(4):
    model.train()
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(inputs)
    model.eval()
    with torch.no_grad():
        held = criterion(model(images[:100]), labels[:100]).item()
    print(f"epoch {epoch} training loss {total / 390:.4f} evaluated {held:.4f}")
print("running mean", model[1].running_mean)
print("batches", model[1].num_batches_tracked)
