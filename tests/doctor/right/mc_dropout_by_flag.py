import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 16), nn.Linear(16, 2)
        self.mc = False
        self.dropout = nn.Dropout(0.2)
    def forward(self, x):
        h = F.dropout(torch.relu(self.a(self.dropout(x))), 0.3, self.training or self.mc)
        return self.b(h)
n = N()
o = torch.optim.Adam(n.parameters())
for e in range(4):
    n.train()
    for _ in range(3):
        o.zero_grad()
        nn.functional.cross_entropy(n(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        o.step()
    n.eval()
    n.mc = True
    with torch.no_grad():
        print(torch.stack([n(torch.ones(2, 4)) for _ in range(5)]).std(0).shape)
    n.mc = False
