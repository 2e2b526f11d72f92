import torch
from torch import nn
torch.manual_seed(0)

class Mem(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 6, batch_first=True)
        self.out = nn.Linear(6, 1)
        self.state = None

    def forward(self, x):
        if self.state is None:
            self.state = torch.zeros(1, x.size(0), 6)
        y, h = self.rnn(x, self.state)
        self.state = h  # here
        return self.out(y)

m = Mem()
o = torch.optim.Adam(m.parameters())
for t in range(5):
    o.zero_grad()
    loss = m(torch.randn(4, 7, 3)).pow(2).mean()
    loss.backward()
    o.step()
