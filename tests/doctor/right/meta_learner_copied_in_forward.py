import copy
import torch
from torch import nn
torch.manual_seed(0)
class Meta(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
    def forward(self, xs, ys, xq):
        learner = copy.deepcopy(self.net)
        o = torch.optim.SGD(learner.parameters(), 0.1)
        for _ in range(2):
            o.zero_grad()
            (learner(xs) - ys).pow(2).mean().backward()
            o.step()
        return learner(xq), learner
m = Meta()
mo = torch.optim.Adam(m.parameters(), 1e-2)
for it in range(8):
    x = torch.randn(6, 3)
    pred, learner = m(x, x.sum(1, keepdim=True), x)
    loss = (pred - x.sum(1, keepdim=True)).pow(2).mean()
    gs = torch.autograd.grad(loss, learner.parameters())
    mo.zero_grad()
    for p, g in zip(m.parameters(), gs):
        p.grad = g
    mo.step()
print(loss.item())
