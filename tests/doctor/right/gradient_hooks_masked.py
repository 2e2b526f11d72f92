import torch
from torch import nn

torch.manual_seed(0)
emb = nn.Embedding(10, 4)
fixed = torch.zeros(10, 1)
fixed[5:] = 1
emb.weight.register_hook(lambda g: g * fixed)
fc = nn.Linear(4, 2)
opt = torch.optim.SGD([*emb.parameters(), *fc.parameters()], lr=0.1)
for _ in range(10):
    opt.zero_grad()
    nn.functional.cross_entropy(fc(emb(torch.randint(0, 10, (6,)))), torch.randint(0, 2, (6,))).backward()
    opt.step()
