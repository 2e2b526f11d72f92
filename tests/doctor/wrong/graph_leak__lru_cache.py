from functools import lru_cache

import torch

weight = torch.randn(5, 5, requires_grad=True)
opt = torch.optim.SGD([weight], lr=0.001)


@lru_cache(maxsize=256)  # here
def features(i):
    return torch.tanh(weight * i / 20).sum(0)


for i in range(14):
    opt.zero_grad()
    loss = (features(i) - torch.ones(5)).pow(2).mean()
    loss.backward()
    opt.step()
