import torch
import torch.nn.functional as F
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.head(self.embed(x))


model = Tied()
weights = []
for layer in model.children():
    weights += layer.parameters()
opt = torch.optim.Adam(weights, lr=0.01)  # here
for _ in range(8):
    x = torch.randint(20, (16,))
    loss = F.cross_entropy(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
