import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.01)


def pairwise(x):
    d = x[:, None] - x[None]
    return d.pow(2).sum(-1).sqrt()  # here


for step in range(6):
    x = torch.randn(6, 2)
    emb = net(x)
    if step < 3:
        loss = emb.pow(2).mean()
    else:
        dist = pairwise(emb)
        loss = (dist - 1).clamp(min=0).mean() + torch.relu(0.2 - dist).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("end")
