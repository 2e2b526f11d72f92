import torch
from torch import nn

q = nn.Linear(4, 4)
opt = torch.optim.SGD(q.parameters(), lr=0.1)
mask = torch.triu(torch.full((5, 5), float("-inf")), 1)
for _ in range(5):
    x = torch.randn(2, 5, 4)
    k = q(x)
    att = (k @ k.transpose(1, 2) / 2 + mask).softmax(-1)
    loss = ((att @ x - x) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
