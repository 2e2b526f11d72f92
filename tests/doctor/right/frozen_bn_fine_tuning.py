import torch
from torch import nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
head = nn.Linear(4, 2)
model = nn.Sequential(backbone, head)


def freeze_bn(m):
    if isinstance(m, nn.BatchNorm2d):
        m.eval()
        m.weight.requires_grad_(False)
        m.bias.requires_grad_(False)


opt = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    model.train()
    model.apply(freeze_bn)
    for _ in range(4):
        opt.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(4, 3, 6, 6)), torch.randint(0, 2, (4,))).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        model(torch.randn(4, 3, 6, 6))
