"""PCGrad (Yu et al. 2020): a backward per task, conflicting gradients projected, result assigned to .grad."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)
random.seed(4)


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def params(self):
        return [p for g in self.optimizer.param_groups for p in g["params"]]

    def zero_grad(self):
        self.optimizer.zero_grad(set_to_none=True)

    def step(self):
        self.optimizer.step()

    def pc_backward(self, losses):
        grads = []
        for i, loss in enumerate(losses):
            self.zero_grad()
            loss.backward(retain_graph=i + 1 < len(losses))
            grads.append(torch.cat([
                (p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in self.params
            ]))
        merged = torch.zeros_like(grads[0])
        for g in grads:
            g = g.clone()
            for other in random.sample(grads, len(grads)):
                dot = torch.dot(g, other)
                if dot < 0:
                    g -= dot / other.norm().pow(2) * other
            merged += g
        offset = 0
        for p in self.params:
            p.grad = merged[offset:offset + p.numel()].view_as(p).clone()
            offset += p.numel()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 24), nn.Tanh())
        self.a, self.b = nn.Linear(24, 1), nn.Linear(24, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.a(h), self.b(h)


model = Net()
opt = PCGrad(torch.optim.Adam(model.parameters(), lr=5e-3))
X = torch.randn(120, 8)
Ya, Yb = X.sum(1, keepdim=True), X[:, :3].argmin(1)
for epoch in range(4):
    for idx in torch.randperm(120).split(12):
        out_a, out_b = model(X[idx])
        losses = [F.mse_loss(out_a, Ya[idx]), F.cross_entropy(out_b, Yb[idx])]
        opt.pc_backward(losses)
        opt.step()
    print(epoch, [round(l.item(), 4) for l in losses])
