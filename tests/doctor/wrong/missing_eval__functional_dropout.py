import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 20), nn.Linear(20, 3)
    def forward(self, x):
        x = F.relu(self.a(x))
        x = F.dropout(x, 0.5)  # here
        return self.b(x)

net = Net()
opt = torch.optim.Adam(net.parameters())
for epoch in range(5):
    net.train()
    for _ in range(3):
        opt.zero_grad()
        F.cross_entropy(net(torch.randn(8, 6)), torch.randint(0, 3, (8,))).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        out = net(torch.randn(8, 6))  # or here
    print(out.argmax(1).tolist())
