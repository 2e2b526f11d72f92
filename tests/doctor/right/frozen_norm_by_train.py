import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 3))

    def train(self, mode=True):
        super().train(mode)
        for m in self.backbone.modules():
            if isinstance(m, nn.BatchNorm2d):
                m.eval()
                for p in m.parameters():
                    p.requires_grad_(False)
        return self

    def forward(self, x):
        return self.head(self.backbone(x))


net = Net()
net.train()
opt = torch.optim.AdamW(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)
for epoch in range(3):
    net.train()
    for _ in range(4):
        x = torch.randn(8, 1, 6, 6)
        y = torch.randint(0, 3, (8,))
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        val = F.cross_entropy(net(torch.randn(16, 1, 6, 6)), torch.randint(0, 3, (16,)))
    print(epoch, round(loss.item(), 3), round(val.item(), 3))
