import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        super().__init__(params, dict(rho=rho, adaptive=adaptive, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(torch.stack([p.grad.norm(2) for g in self.param_groups for p in g["params"] if p.grad is not None]))
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError


def set_bn(model, momentum):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.backup = getattr(m, "backup", m.momentum)
            m.momentum = 0 if momentum == 0 else m.backup


net = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 2))
opt = SAM(net.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
for i in range(8):
    x = torch.randn(32, 4)
    y = (x[:, 0] > 0).long()
    set_bn(net, 1)
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    opt.first_step(zero_grad=True)
    set_bn(net, 0)
    F.cross_entropy(net(x), y).backward()
    opt.second_step(zero_grad=True)
    if i % 2 == 0:
        print(i, round(loss.item(), 4))
