import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class Att(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.v = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        s = torch.exp(self.q(x) @ x.transpose(1, 2) * 0.1)
        s /= s.sum(-1, keepdim=True)  # here
        return self.v(s @ x).mean(1)


m = Att()
opt = torch.optim.Adam(m.parameters(), lr=1e-3)
for i in range(3):
    loss = m(torch.randn(4, 5, 8)).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
