import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 3))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(10):
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(8, 5)), torch.randint(0, 3, (8,))).backward()
    if step < 4:
        for p in net[2].parameters():
            p.grad.zero_()
    opt.step()
