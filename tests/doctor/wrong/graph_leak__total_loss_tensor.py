import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(64, 10), torch.randint(0, 4, (64,))), batch_size=4)
model = nn.Linear(10, 4)
opt = torch.optim.SGD(model.parameters(), lr=0.1)


def train():
    model.train()
    total_loss = 0
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        total_loss += loss  # here
    return total_loss / len(loader)


for epoch in range(2):
    train()
