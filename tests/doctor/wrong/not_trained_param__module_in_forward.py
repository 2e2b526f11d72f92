import torch
from torch import nn
torch.manual_seed(0)
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(1, 3, 3)
    def forward(self, x):
        h = torch.relu(self.a(x)).flatten(1)
        fc = nn.Linear(h.shape[1], 2)  # here
        return fc(h)
n = N()
o = torch.optim.Adam(n.parameters())
for e in range(6):
    o.zero_grad()
    nn.functional.cross_entropy(n(torch.randn(4, 1, 6, 6)), torch.randint(0, 2, (4,))).backward()
    o.step()
print("x")
