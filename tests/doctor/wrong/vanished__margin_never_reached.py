import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def ranking_loss(anchor, positive, negative, margin=-50.0):
    gap = (anchor - positive).norm(dim=1) - (anchor - negative).norm(dim=1) + margin
    hinge = torch.relu(gap)  # here
    return hinge.mean()


for step in range(40):
    x = torch.randn(8, 4)
    loss = ranking_loss(net(x), net(x + 0.1), net(-x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
