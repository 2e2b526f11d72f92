import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Linear(d, 2)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 8**0.5
        weights = F.softmax(scores)  # here
        return self.out((weights @ self.v(x)).mean(1))


net = Attention(8)
opt = torch.optim.Adam(net.parameters())
for _ in range(6):
    opt.zero_grad()
    F.cross_entropy(net(torch.randn(4, 5, 8)), torch.randint(0, 2, (4,))).backward()
    opt.step()
