import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.5), nn.ReLU(), nn.Linear(16, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(4):
    net.training = True
    for i in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
        opt.step()
    net.training = False  # or here
    with torch.no_grad():
        acc = sum((net(torch.randn(8, 4)).argmax(1) == 0).sum().item() for _ in range(3))  # here
