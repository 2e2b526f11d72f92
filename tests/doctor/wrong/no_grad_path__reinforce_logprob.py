import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(543)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(3, 32)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return self.affine2(torch.tanh(self.affine1(x)))


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def select_action(state):
    m = Categorical(logits=policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action).detach())  # here
    return action.item()


def finish_episode():
    R, returns = 0.0, []
    for r in policy.rewards[::-1]:
        R = r + 0.95 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    optimizer.zero_grad()
    loss = -(torch.stack(policy.saved_log_probs) * returns).sum()
    loss.backward()  # or here
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


for episode in range(10):
    state, total = torch.randn(3), 0.0
    for t in range(15):
        action = select_action(state)
        reward = 1.0 if (state[0] > 0).item() == bool(action) else 0.0
        policy.rewards.append(reward)
        total += reward
        state = torch.randn(3)
    finish_episode()
    print(f"Episode {episode}\treward {total:.0f}")
