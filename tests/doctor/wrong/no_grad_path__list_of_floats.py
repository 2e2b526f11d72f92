import torch
from torch import nn

net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(5):
    losses = []
    for k in range(3):
        out = net(torch.randn(8, 4))
        losses.append(nn.functional.cross_entropy(out, torch.randint(0, 2, (8,))).item())  # here
    loss = torch.tensor(losses, requires_grad=True).mean()  # or here
    opt.zero_grad()
    loss.backward()
    opt.step()
