import torch
from torch import nn
torch.manual_seed(0)

class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 6)
        self.out = nn.Linear(6, 1)
        self.h = torch.zeros(4, 6)

    def forward(self, x):
        self.h = self.cell(x, self.h)  # here
        return self.out(self.h)

m = Stateful()
o = torch.optim.Adam(m.parameters())
for t in range(5):
    o.zero_grad()
    loss = m(torch.randn(4, 3)).pow(2).mean()
    loss.backward()  # or here
    o.step()
