"""Scores of shape (T, N): the softmax over time is one over dimension 0. There are as many steps as samples."""

import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.score, self.out = nn.GRU(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, x):  # (T, N, 4)
        states, _ = self.rnn(x)
        weights = torch.softmax(self.score(states).squeeze(-1), dim=0)
        by_product = torch.bmm(weights.t().unsqueeze(1), states.transpose(0, 1)).squeeze(1)
        by_sum = (weights.unsqueeze(-1) * states).sum(0)
        return self.out(by_product + by_sum)


torch.manual_seed(0)
net = Reader()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(8):
    loss = nn.functional.cross_entropy(net(torch.randn(6, 6, 4)), torch.randint(0, 2, (6,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
