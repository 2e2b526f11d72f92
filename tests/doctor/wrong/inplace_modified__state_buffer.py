import torch
from torch import nn


class Rollout(nn.Module):
    """Unrolls a learned transition and keeps all states in one buffer."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.trans = nn.Linear(dim, dim)
        self.readout = nn.Linear(dim, 1)

    def forward(self, start, horizon):
        states = torch.zeros(horizon + 1, start.size(0), self.dim)  # or here
        states[0] = start
        for t in range(horizon):
            states[t + 1] = torch.tanh(self.trans(states[t]))  # here
        return self.readout(states[1:]).squeeze(-1)


def targets(start, horizon):
    decay = 0.8 ** torch.arange(1, horizon + 1).float()
    return decay.unsqueeze(1) * start[:, 0].unsqueeze(0)


torch.manual_seed(5)
model = Rollout(6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loss_fn = nn.MSELoss()

for step in range(20):
    x0 = torch.randn(24, 6)
    optimizer.zero_grad()
    pred = model(x0, horizon=5)
    loss = loss_fn(pred, targets(x0, 5))
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, loss.item())
