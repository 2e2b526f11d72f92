import torch
from torch import nn
torch.manual_seed(0)
class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(4, 2)
        self.e1, self.e2 = nn.Linear(4, 3), nn.Linear(4, 3)
    def forward(self, x):
        choice = self.gate(x).argmax(1, keepdim=True)  # here
        return torch.where(choice == 0, self.e1(x), self.e2(x))
r = Router()
o = torch.optim.Adam(r.parameters())
for _ in range(10):
    o.zero_grad()
    nn.functional.cross_entropy(r(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
    o.step()
print("x")
