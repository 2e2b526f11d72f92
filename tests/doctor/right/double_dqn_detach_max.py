"""The old style of DQN: target(s).max(1)[0].detach(), hard target copies, view_as targets, PER weights."""
import torch
import torch.nn as nn

torch.manual_seed(15)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.feature = nn.Sequential(nn.Linear(3, 32), nn.ReLU())
        self.advantage, self.value = nn.Linear(32, 4), nn.Linear(32, 1)

    def forward(self, x):
        x = self.feature(x)
        adv = self.advantage(x)
        return self.value(x) + adv - adv.mean(1, keepdim=True)


current, target = Net(), Net()
target.load_state_dict(current.state_dict())
target.eval()
optimizer = torch.optim.RMSprop(current.parameters(), lr=1e-3)
n = 300
S, A = torch.randn(n, 3), torch.randint(0, 4, (n, 1))
S2 = 0.8 * S + 0.2 * (A - 1.5)
R, done = -S2.abs().sum(1, keepdim=True), (torch.rand(n, 1) < 0.1).float()
priority = torch.ones(n)
losses = []
for frame in range(80):
    probs = priority ** 0.6
    probs = probs / probs.sum()
    idx = torch.multinomial(probs, 24, replacement=True)
    weights = (n * probs[idx]) ** -0.4
    weights = (weights / weights.max()).unsqueeze(1)

    q_value = current(S[idx]).gather(1, A[idx])
    next_q = target(S2[idx]).max(1)[0].detach().unsqueeze(1)
    expected = R[idx] + 0.9 * next_q * (1 - done[idx])
    td = (q_value - expected).pow(2) * weights
    loss = td.mean()
    optimizer.zero_grad()
    loss.backward()
    for p in current.parameters():
        p.grad.data.clamp_(-1, 1)
    optimizer.step()
    priority[idx] = td.detach().squeeze(1) + 1e-3
    losses.append(loss.item())
    if frame % 20 == 19:
        target.load_state_dict(current.state_dict())
        print(f"frame {frame} loss {sum(losses[-20:]) / 20:.4f}")
