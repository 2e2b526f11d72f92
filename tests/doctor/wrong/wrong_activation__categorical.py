import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3), nn.Softmax(-1))  # or here
opt = torch.optim.Adam(policy.parameters())
for _ in range(6):
    dist = Categorical(logits=policy(torch.randn(5, 4)))  # here
    a = dist.sample()
    loss = -(dist.log_prob(a) * torch.randn(5)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
