"""TD3: the delayed actor loss writes into the critic's grads, which are zeroed before the critic's next loss."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
state_dim, action_dim, discount, tau, policy_freq = 3, 1, 0.95, 0.01, 2


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(state_dim, 32), nn.Linear(32, action_dim)

    def forward(self, state):
        return torch.tanh(self.l2(F.relu(self.l1(state))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        make = lambda: nn.Sequential(nn.Linear(state_dim + action_dim, 32), nn.ReLU(), nn.Linear(32, 1))
        self.q1, self.q2 = make(), make()

    def forward(self, s, a):
        sa = torch.cat([s, a], 1)
        return self.q1(sa), self.q2(sa)

    def Q1(self, s, a):
        return self.q1(torch.cat([s, a], 1))


actor, critic = Actor(), Critic()
actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
actor_optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
replay, state = [], torch.randn(state_dim)
for total_it in range(120):
    with torch.no_grad():
        action = (actor(state.unsqueeze(0))[0] + 0.2 * torch.randn(action_dim)).clamp(-1, 1)
    nxt = 0.9 * state + 0.3 * action + 0.05 * torch.randn(state_dim)
    reward = -(nxt ** 2).sum().view(1)
    replay.append((state, action, nxt, reward))
    state = torch.randn(state_dim) if total_it % 20 == 19 else nxt
    if len(replay) < 40:
        continue
    pick = torch.randint(0, len(replay), (32,)).tolist()
    s, a, s2, r = (torch.stack(t) for t in zip(*(replay[i] for i in pick)))
    with torch.no_grad():
        noise = (torch.randn_like(a) * 0.2).clamp(-0.5, 0.5)
        next_action = (actor_target(s2) + noise).clamp(-1, 1)
        q1, q2 = critic_target(s2, next_action)
        target_Q = r + discount * torch.min(q1, q2)
    cur1, cur2 = critic(s, a)
    critic_loss = F.mse_loss(cur1, target_Q) + F.mse_loss(cur2, target_Q)
    critic_optimizer.zero_grad()
    critic_loss.backward()
    critic_optimizer.step()
    if total_it % policy_freq == 0:
        actor_loss = -critic.Q1(s, actor(s)).mean()
        actor_optimizer.zero_grad()
        actor_loss.backward()
        actor_optimizer.step()
        for net, tgt in ((critic, critic_target), (actor, actor_target)):
            for p, tp in zip(net.parameters(), tgt.parameters()):
                tp.data.copy_(tau * p.data + (1 - tau) * tp.data)
    if total_it % 20 == 0:
        print(f"it {total_it} critic {critic_loss.item():.4f} actor {actor_loss.item():.4f}")
