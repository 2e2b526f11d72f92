import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
GAMMA, BATCH = 0.9, 16


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, s):
        return self.fc2(torch.tanh(self.fc1(s)))


def env_step(s, a):
    s2 = 0.9 * s + 0.1 * torch.randn(4) + (0.1 if a == 1 else -0.1)
    return s2, -s2.abs().mean().item()


policy, target = QNet(), QNet()
target.load_state_dict(policy.state_dict())
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
memory, td_log = [], []
state = torch.randn(4)

for t in range(60):
    with torch.no_grad():
        greedy = policy(state).argmax().item()
    action = random.randrange(2) if random.random() < 0.2 else greedy
    nxt, reward = env_step(state, action)
    memory.append((state, action, reward, nxt))
    state = nxt
    if len(memory) < BATCH:
        continue
    s, a, r, s2 = zip(*random.sample(memory, BATCH))
    q = policy(torch.stack(s)).gather(1, torch.tensor(a).unsqueeze(1)).squeeze(1)
    with torch.no_grad():
        y = torch.tensor(r) + GAMMA * target(torch.stack(s2)).max(1).values
    td_error = y - q
    loss = F.smooth_l1_loss(q, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    td_log.append(td_error.abs().mean())  # here
    if t % 10 == 0:
        target.load_state_dict(policy.state_dict())
        print(t, "mean |td|:", torch.stack(td_log[-10:]).mean().item())
