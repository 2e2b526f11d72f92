import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), 0.1)
for it in range(6):
    grads = []
    x = torch.randn(8, 4)
    out = net(x)
    for k in range(2):
        opt.zero_grad()
        out[:, k].pow(2).mean().backward(retain_graph=k == 0)
        grads.append([p.grad.clone() for p in net.parameters()])
    opt.zero_grad()
    for p, *gs in zip(net.parameters(), *grads):
        dot = (gs[0] * gs[1]).sum()
        p.grad = gs[0] + gs[1] - (dot < 0) * dot * gs[0] / (gs[0].norm() ** 2 + 1e-8)
    opt.step()
print("ok")
