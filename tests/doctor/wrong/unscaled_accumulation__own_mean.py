import torch
from torch import nn


def accumulate(model, opt, batches):
    opt.zero_grad()
    for x, y in batches:
        error = (model(x) - y).abs()
        loss = error.mean()  # or here
        loss.backward()  # here
    opt.step()


model = nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(4):
    accumulate(model, opt, [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(3)])
