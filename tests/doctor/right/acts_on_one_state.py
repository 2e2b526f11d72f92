"""The layers of a policy are called on one state, a plain vector, with a graph that nothing uses: no evaluation."""

import torch
from torch import nn


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(4, 128), nn.Linear(128, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))

    def act(self, state):
        return self.forward(state).argmax().item()


torch.manual_seed(0)
q = Q()
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for _ in range(10):
    states, actions = [], []
    state = torch.randn(4)
    for _ in range(20):
        states.append(state)
        actions.append(q.act(state))
        state = torch.randn(4)
    opt.zero_grad()
    chosen = q(torch.stack(states)).gather(1, torch.tensor(actions)[:, None])
    (chosen - 1).pow(2).mean().backward()
    opt.step()
