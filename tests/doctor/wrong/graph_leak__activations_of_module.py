import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 1)
        self.activations = []
    def forward(self, x):
        h = torch.relu(self.a(x))
        self.activations.append(h)  # here
        return self.b(h)
n = Net()
o = torch.optim.SGD(n.parameters(), 0.1)
for _ in range(20):
    o.zero_grad()
    n(torch.randn(5, 4)).pow(2).mean().backward()
    o.step()
print(len(n.activations))
