import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class SwAV(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))
        self.prototypes = nn.Linear(8, 6, bias=False)

    def forward(self, x):
        z = F.normalize(self.enc(x), dim=1)
        return z, self.prototypes(z)


@torch.no_grad()
def sinkhorn(scores, eps=0.05, iters=3):
    Q = torch.exp(scores / eps).T
    Q /= Q.sum()
    K, B = Q.shape
    for _ in range(iters):
        Q /= Q.sum(1, keepdim=True)
        Q /= K
        Q /= Q.sum(0, keepdim=True)
        Q /= B
    return (Q * B).T


net = SwAV()
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(8):
    with torch.no_grad():
        w = net.prototypes.weight.data.clone()
        net.prototypes.weight.copy_(F.normalize(w, dim=1))
    x = torch.randn(24, 8)
    _, s1 = net(x + 0.1 * torch.randn_like(x))
    _, s2 = net(x + 0.1 * torch.randn_like(x))
    q1, q2 = sinkhorn(s1.detach()), sinkhorn(s2.detach())
    loss = -0.5 * ((q1 * F.log_softmax(s2 / 0.1, 1)).sum(1).mean() + (q2 * F.log_softmax(s1 / 0.1, 1)).sum(1).mean())
    opt.zero_grad()
    loss.backward()
    if step < 2:
        net.prototypes.weight.grad = None
    opt.step()
    print(step, round(loss.item(), 4))
