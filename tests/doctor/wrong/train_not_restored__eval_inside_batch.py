import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
x, y = torch.randn(80, 4), torch.randint(0, 2, (80,))
net.train()
for step in range(16):
    i = step % 8 * 10
    opt.zero_grad()
    nn.functional.cross_entropy(net(x[i : i + 10]), y[i : i + 10]).backward()
    opt.step()
    if step % 5 == 4:
        net.eval()  # here
        with torch.no_grad():
            print(step)
            net(x[:20])
