import torch
from torch import nn

REGISTRY = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}


def get_optimizer(name, params, **kwargs):
    cls = REGISTRY[name]
    optimizer = cls(params, **kwargs)
    return optimizer


def get_scheduler(optimizer):
    return torch.optim.lr_scheduler.StepLR(optimizer, 2)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
for epoch in range(5):
    opt = get_optimizer("adam", net.parameters(), lr=1e-3)  # here
    for _ in range(4):
        x = torch.randn(8, 4)
        opt.zero_grad()
        (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        opt.step()
print("ok")
