import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
actor = torch.optim.SGD(net[0].parameters(), lr=0.01)
critic = torch.optim.SGD(net[2].parameters(), lr=0.01)
for epoch in range(3):
    for i in range(4):
        x, y = torch.randn(8, 4), torch.randint(0, 2, (8,))
        actor.zero_grad()
        critic.zero_grad  # here
        nn.functional.cross_entropy(net(x), y).backward()
        actor.step()
        critic.step()
