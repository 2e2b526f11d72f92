import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(2, 4), nn.Linear(4, 2)

    def forward(self, x, h):
        y, h = self.rnn(x, h)
        return self.out(y), h


model = Model()
opt = torch.optim.Adam(model.parameters(), 1e-3)
h = torch.zeros(1, 3, 4)
for _ in range(4):
    x = torch.randn(5, 3, 2)
    out, h = model(x, h)  # here
    loss = F.mse_loss(out, x)
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
