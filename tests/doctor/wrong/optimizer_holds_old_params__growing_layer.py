import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class Growing(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 8)
        self.out = nn.Linear(8, 2)

    def grow(self, n):
        old = self.hidden
        self.hidden = nn.Linear(4, old.out_features + n)  # here
        self.hidden.weight.data[: old.out_features] = old.weight.data
        self.out = nn.Linear(self.hidden.out_features, 2)  # or here

    def forward(self, x):
        return self.out(F.relu(self.hidden(x)))


m = Growing()
opt = torch.optim.Adam(m.parameters(), lr=1e-2)  # or here
for epoch in range(3):
    for _ in range(5):
        x = torch.randn(16, 4)
        loss = F.cross_entropy(m(x), (x[:, 0] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
    if epoch == 0:
        m.grow(8)  # or here
    print(epoch, round(loss.item(), 3))
