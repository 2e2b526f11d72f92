import torch
from torch import nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
        self.squash = nn.Softmax(dim=0)  # here

    def forward(self, s):
        return self.squash(self.net(s))  # or here


policy = Policy()
opt = torch.optim.Adam(policy.parameters())
for _ in range(10):
    s = torch.randn(16, 4)
    d = Categorical(probs=policy(s))
    a = d.sample()
    loss = -(d.log_prob(a) * torch.randn(16)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
