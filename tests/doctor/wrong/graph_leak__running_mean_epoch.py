import torch
from torch import nn
import torch.nn.functional as F

from torch.utils.data import DataLoader, TensorDataset

loader = DataLoader(TensorDataset(torch.randn(64, 4), torch.randint(3, (64,))), batch_size=4)
model = nn.Linear(4, 3)
opt = torch.optim.Adam(model.parameters(), 1e-3)
for epoch in range(2):
    running_loss = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        running_loss += loss  # here
