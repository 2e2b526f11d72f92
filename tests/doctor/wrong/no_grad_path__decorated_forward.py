import torch
from torch import nn


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 1)

    @torch.no_grad()  # or here
    def embed(self, x):
        return self.fc(x)  # here

    def forward(self, x):
        return self.embed(x)


torch.manual_seed(0)
m = Scorer()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
loss = (m(torch.randn(4, 5)) ** 2).mean()
opt.zero_grad()
loss.backward()  # or here
opt.step()
