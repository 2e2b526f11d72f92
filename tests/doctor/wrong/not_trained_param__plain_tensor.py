import torch
from torch import nn
torch.manual_seed(0)

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.alpha = torch.ones(4, requires_grad=True)  # here
    def forward(self, x):
        return self.alpha * self.fc(x)

net = Scale()
opt = torch.optim.Adam(net.parameters())  # or here
for i in range(12):
    opt.zero_grad()
    net(torch.randn(6, 4)).pow(2).mean().backward()
    opt.step()
print("done")
