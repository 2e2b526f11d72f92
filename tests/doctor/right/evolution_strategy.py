import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=0.01)
x = torch.randn(50, 4)
target = x.sum(1, keepdim=True)
for gen in range(10):
    grads = [torch.zeros_like(p) for p in net.parameters()]
    for _ in range(6):
        noise = [torch.randn_like(p) for p in net.parameters()]
        with torch.no_grad():
            for p, n in zip(net.parameters(), noise):
                p.add_(0.1 * n)
            loss = (net(x) - target).pow(2).mean()
            for p, n in zip(net.parameters(), noise):
                p.sub_(0.1 * n)
        for g, n in zip(grads, noise):
            g += loss * n / 6
    for p, g in zip(net.parameters(), grads):
        p.grad = g
    opt.step()
