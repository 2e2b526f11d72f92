import torch
from torch import nn
import torch.nn.functional as F

class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.hidden = []  # here
        for a, b in zip(sizes, sizes[1:]):
            self.hidden.append(nn.Linear(a, b))
        self.first = nn.Linear(4, sizes[0])
        self.middle = nn.Linear(sizes[-1], sizes[-1])
        self.last = nn.Linear(sizes[-1], 1)

    def forward(self, x):
        x = self.first(x)
        for layer in self.hidden:
            x = layer(x).relu()
        return self.last(self.middle(x))


model = MLP([8, 8])
opt = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(6):
    opt.zero_grad()
    F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
    opt.step()
