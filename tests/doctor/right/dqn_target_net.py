"""DQN from the PyTorch tutorial: target_net(s).max(1).values, gather, soft update through state_dict."""
import random
from collections import deque, namedtuple
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)
Transition = namedtuple("Transition", "state action next_state reward")
BATCH_SIZE, GAMMA, TAU = 16, 0.9, 0.05


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, 32)
        self.layer3 = nn.Linear(32, n_actions)

    def forward(self, x):
        return self.layer3(F.relu(self.layer2(F.relu(self.layer1(x)))))


policy_net, target_net = DQN(2, 3), DQN(2, 3)
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=3e-3, amsgrad=True)
memory = deque([], maxlen=500)


def select_action(state, eps):
    if random.random() < eps:
        return torch.tensor([[random.randrange(3)]])
    with torch.no_grad():
        return policy_net(state).max(1).indices.view(1, 1)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return None
    batch = Transition(*zip(*random.sample(memory, BATCH_SIZE)))
    non_final_mask = torch.tensor([s is not None for s in batch.next_state])
    non_final_next = torch.cat([s for s in batch.next_state if s is not None])
    state_action_values = policy_net(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
    next_state_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next).max(1).values
    expected = next_state_values * GAMMA + torch.cat(batch.reward)
    loss = F.smooth_l1_loss(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


for episode in range(8):
    state, total, loss = torch.randn(1, 2), 0.0, None
    for t in range(15):
        action = select_action(state, eps=max(0.1, 0.9 - 0.1 * episode))
        nxt = state + torch.tensor([[0.1, 0.3]]) * (action - 1).float() + 0.02 * torch.randn(1, 2)
        reward = -nxt.norm(dim=1)
        done = nxt.norm() > 3
        memory.append(Transition(state, action, None if done else nxt, reward))
        total += reward.item()
        loss = optimize_model()
        target_sd, policy_sd = target_net.state_dict(), policy_net.state_dict()
        for key in policy_sd:
            target_sd[key] = policy_sd[key] * TAU + target_sd[key] * (1 - TAU)
        target_net.load_state_dict(target_sd)
        if done:
            break
        state = nxt
    print(f"episode {episode} return {total:.2f} loss {loss}")
