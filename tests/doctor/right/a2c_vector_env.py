"""A2C: rollouts of several environments, log-probs, values and entropies kept until the update."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(3)
n_envs, n_steps, gamma = 8, 5, 0.95


class ActorCritic(nn.Module):
    def __init__(self, n_in, n_actions, hidden=32):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.actor = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, n_actions), nn.Softmax(dim=1))

    def forward(self, x):
        return Categorical(self.actor(x)), self.critic(x)


class PointEnvs:
    def __init__(self, n):
        self.x = torch.randn(n, 2)

    def step(self, action):
        move = torch.tensor([[0.2, 0.0], [-0.2, 0.0], [0.0, 0.2], [0.0, -0.2]])[action]
        self.x = self.x + move + 0.02 * torch.randn_like(self.x)
        done = (self.x.norm(dim=1) < 0.3) | (self.x.norm(dim=1) > 3)
        reward = -self.x.norm(dim=1) + 2.0 * (self.x.norm(dim=1) < 0.3)
        fresh = torch.randn_like(self.x)
        self.x = torch.where(done[:, None], fresh, self.x)
        return self.x.clone(), reward[:, None], 1.0 - done.float()[:, None]


def compute_returns(next_value, rewards, masks):
    R, returns = next_value, []
    for step in reversed(range(len(rewards))):
        R = rewards[step] + gamma * R * masks[step]
        returns.insert(0, R)
    return returns


envs = PointEnvs(n_envs)
model = ActorCritic(2, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
state = envs.x.clone()
for update in range(24):
    log_probs, values, rewards, masks, entropy = [], [], [], [], 0
    for _ in range(n_steps):
        dist, value = model(state)
        action = dist.sample()
        state, reward, mask = envs.step(action)
        log_probs.append(dist.log_prob(action)[:, None])
        entropy += dist.entropy().mean()
        values.append(value)
        rewards.append(reward)
        masks.append(mask)
    with torch.no_grad():
        _, next_value = model(state)
    returns = torch.cat(compute_returns(next_value, rewards, masks))
    advantage = returns - torch.cat(values)
    actor_loss = -(torch.cat(log_probs) * advantage.detach()).mean()
    critic_loss = advantage.pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss - 0.001 * entropy
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    if update % 8 == 7:
        print(f"update {update} reward {torch.cat(rewards).mean():.3f} critic {critic_loss.item():.3f}")
