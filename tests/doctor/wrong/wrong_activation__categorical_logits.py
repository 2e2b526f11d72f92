"""Actor-critic on a contextual bandit with short episodes."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class ActorCritic(nn.Module):
    def __init__(self, obs, actions):
        super().__init__()
        self.body = nn.Linear(obs, 32)
        self.action_head = nn.Linear(32, actions)
        self.value_head = nn.Linear(32, 1)

    def forward(self, x):
        x = torch.tanh(self.body(x))
        probs = F.softmax(self.action_head(x), dim=-1)  # or here
        return probs, self.value_head(x).squeeze(-1)


def run_episode(model, length=10):
    log_probs, values, rewards = [], [], []
    for _ in range(length):
        state = torch.randn(4)
        probs, value = model(state)
        dist = Categorical(logits=probs)  # here
        action = dist.sample()
        log_probs.append(dist.log_prob(action))
        values.append(value)
        rewards.append(1.0 if action.item() == state[:3].argmax().item() else 0.0)
    return torch.stack(log_probs), torch.stack(values), torch.tensor(rewards)


def main():
    torch.manual_seed(0)
    model = ActorCritic(4, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    running = 0.33
    for episode in range(1, 31):
        log_probs, values, rewards = run_episode(model)
        advantage = rewards - values.detach()
        policy_loss = -(log_probs * advantage).mean()
        value_loss = F.smooth_l1_loss(values, rewards)
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        optimizer.step()
        running = 0.9 * running + 0.1 * rewards.mean().item()
        if episode % 10 == 0:
            print(f"Episode {episode} running reward {running:.3f}")


main()
