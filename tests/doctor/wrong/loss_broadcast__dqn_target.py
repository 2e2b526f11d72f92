import random
from collections import deque

import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)


class Agent:
    def __init__(self, obs=3, n_actions=2, gamma=0.9):
        self.q = self.build(obs, n_actions)
        self.q_target = self.build(obs, n_actions)
        self.q_target.load_state_dict(self.q.state_dict())
        self.opt = torch.optim.Adam(self.q.parameters(), lr=2e-3)
        self.memory = deque(maxlen=200)
        self.gamma = gamma

    @staticmethod
    def build(obs, n_actions):
        return nn.Sequential(nn.Linear(obs, 24), nn.Tanh(), nn.Linear(24, n_actions))

    @torch.no_grad()
    def act(self, s):
        return random.randrange(2) if random.random() < 0.3 else self.q(s).argmax().item()

    def learn(self, batch_size=16):
        s, a, r, s2 = zip(*random.sample(self.memory, batch_size))
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r = torch.tensor(a).unsqueeze(1), torch.tensor(r)
        q_sa = self.q(s).gather(1, a)  # or here
        with torch.no_grad():
            target = r + self.gamma * self.q_target(s2).max(dim=1).values  # or here
        diff = q_sa - target  # here
        loss = torch.where(diff.abs() < 1, 0.5 * diff ** 2, diff.abs() - 0.5).mean()  # or here
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


agent, s = Agent(), torch.randn(3)
for t in range(60):
    a = agent.act(s)
    s2 = torch.randn(3)
    agent.memory.append((s, a, float(a == int(s[0] > 0)), s2))
    s = s2
    if len(agent.memory) >= 16:
        loss = agent.learn()
        if t % 15 == 0:
            agent.q_target.load_state_dict(agent.q.state_dict())
            print(f"t {t} loss {loss:.4f}")
