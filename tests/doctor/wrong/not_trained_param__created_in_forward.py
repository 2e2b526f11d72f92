import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 6)

    def forward(self, x):
        if not hasattr(self, "b"):
            self.b = nn.Linear(6, 2)  # here
        return self.b(torch.relu(self.a(x)))


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)  # or here
for _ in range(8):
    net.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(5, 4)), torch.randint(0, 2, (5,))).backward()
    opt.step()
