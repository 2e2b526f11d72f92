import torch
from torch import nn


class Pool(nn.Module):
    """Gates of a mixture of experts."""

    def __init__(self, width, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x):
        weights = torch.softmax(self.gate(x), dim=0)  # here
        outs = torch.stack([e(x) for e in self.experts], dim=1)
        return (weights.unsqueeze(-1) * outs).sum(1)


torch.manual_seed(0)
net = nn.Sequential(Pool(6, 3), nn.ReLU(), nn.Linear(6, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(10):
    x = torch.randn(20, 6)
    y = (x.sum(1) > 0).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
