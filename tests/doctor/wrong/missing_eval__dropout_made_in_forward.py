import torch
from torch import nn
torch.manual_seed(0)
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 16), nn.Linear(16, 2)
    def forward(self, x):
        h = nn.Dropout(0.3)(torch.relu(self.a(x)))  # here
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
    with torch.no_grad():
        print(n(torch.ones(2, 4)).argmax(1).tolist())
