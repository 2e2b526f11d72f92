import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

train = DataLoader(TensorDataset(torch.randn(64, 32), torch.randint(3, (64,))), batch_size=16)
valid = DataLoader(TensorDataset(torch.randn(96, 32), torch.randint(3, (96,))), batch_size=16)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 3))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    model.train()
    for x, y in train:
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    model.eval()
    total = 0.0
    for x, y in valid:
        out = model(x)  # here
        total += F.cross_entropy(out, y).item()
