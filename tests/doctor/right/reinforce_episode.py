"""pytorch/examples REINFORCE: log-probs live over a whole episode, then one backward."""
from collections import deque
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

torch.manual_seed(543)
gamma = 0.95


class Corridor:
    """Walk right to reach position 4; each step costs 0.1."""
    def reset(self):
        self.pos, self.t = 0, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.pos + 2), 7).float()

    def step(self, action):
        self.pos = max(-2, self.pos + (1 if action == 1 else -1))
        self.t += 1
        done = self.pos >= 4 or self.t >= 20
        return self.obs(), 1.0 if self.pos >= 4 else -0.1, done


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(7, 32)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs, self.rewards = [], []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.dropout(self.affine1(x)))), dim=1)


policy = Policy()
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
eps = torch.finfo(torch.float32).eps


def select_action(state):
    m = Categorical(policy(state.unsqueeze(0)))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R, returns = 0, deque()
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.appendleft(R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    policy_loss = [-log_prob * R for log_prob, R in zip(policy.saved_log_probs, returns)]
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


env, running = Corridor(), 0.0
for episode in range(30):
    state, done, total = env.reset(), False, 0.0
    while not done:
        state, reward, done = env.step(select_action(state))
        policy.rewards.append(reward)
        total += reward
    running = 0.05 * total + 0.95 * running
    finish_episode()
    if episode % 10 == 9:
        print(f"Episode {episode}\tLast reward: {total:.2f}\tAverage: {running:.2f}")
