import torch
from torch import nn
# pruning: masks on gradients and weights by hand between step and next forward
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))
masks = {n: (torch.rand_like(p) > 0.5).float() for n, p in net.named_parameters() if p.dim() > 1}
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
def apply():
    with torch.no_grad():
        for n, p in net.named_parameters():
            if n in masks: p.mul_(masks[n])
apply()
for _ in range(12):
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(16, 8)), torch.randint(0, 2, (16,))).backward()
    for n, p in net.named_parameters():
        if n in masks: p.grad.mul_(masks[n])
    opt.step()
    apply()
