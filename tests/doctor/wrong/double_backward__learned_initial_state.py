import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.h0 = nn.Parameter(torch.zeros(1, 1, 5))
        self.rnn, self.out = nn.GRU(3, 5), nn.Linear(5, 1)

    def start(self, batch):
        return self.h0.expand(-1, batch, -1) * 1.5  # or here


torch.manual_seed(0)
m = Model()
opt = torch.optim.Adam(m.parameters())
h = m.start(2)  # here
for chunk in torch.randn(4, 6, 2, 3):
    y, _ = m.rnn(chunk, h)
    opt.zero_grad()
    m.out(y).pow(2).mean().backward()  # or here
    opt.step()
