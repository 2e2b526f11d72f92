import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
x = torch.randn(20, 3); y = x.sum(1, keepdim=True)
class TwoPoint(torch.optim.Optimizer):
    def __init__(self, ps): super().__init__(ps, dict(lr=0.05))
    def step(self, closure):
        with torch.enable_grad():
            loss = closure()
        with torch.no_grad():
            for g in self.param_groups:
                for p in g["params"]:
                    p.sub_(p.grad, alpha=g["lr"])
        self.zero_grad()
        return loss
class ZO(torch.optim.Optimizer):
    def __init__(self, ps): super().__init__(ps, dict(lr=0.05))
    @torch.no_grad()
    def step(self, closure):
        base = closure()
        for g in self.param_groups:
            for p in g["params"]:
                d = torch.randn_like(p)
                p.add_(d, alpha=1e-3)
                p.sub_(d, alpha=1e-3 + g["lr"] * float(closure() - base) * 10)
        return base
o = TwoPoint(net.parameters())
def closure():
    loss = (net(x) - y).pow(2).mean()
    loss.backward()
    return loss
for _ in range(5):
    o.step(closure)
z = ZO(net.parameters())
for _ in range(5):
    z.step(lambda: (net(x) - y).pow(2).mean())
lb = torch.optim.LBFGS(net.parameters(), lr=0.5)
def c2():
    lb.zero_grad()
    loss = (net(x) - y).pow(2).mean()
    if loss.requires_grad:
        loss.backward()
    return loss
for _ in range(3):
    lb.step(c2)
print("x")
