import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for _ in range(8):
    x, y = torch.randn(10, 5), torch.randn(10, 2)
    grads = []
    for t in range(2):
        opt.zero_grad()
        nn.functional.mse_loss(net(x)[:, t], y[:, t]).backward()
        grads.append(torch.cat([p.grad.flatten().clone() for p in net.parameters()]))
    a, b = grads
    if a @ b < 0:
        a, b = a - (a @ b) / (b @ b) * b, b - (a @ b) / (a @ a) * a
    merged, i = a + b, 0
    for p in net.parameters():
        p.grad = merged[i : i + p.numel()].view_as(p).clone()
        i += p.numel()
    opt.step()
