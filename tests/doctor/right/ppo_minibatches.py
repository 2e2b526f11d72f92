"""PPO: old log-probs under no_grad, several epochs of minibatches per rollout, annealed rate, KL stop."""
import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(9)


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_mean = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_logstd = nn.Parameter(torch.zeros(1, 1))

    def get_value(self, x):
        return self.critic(x).flatten()

    def get_action_and_value(self, x, action=None):
        mean = self.actor_mean(x)
        probs = Normal(mean, self.actor_logstd.expand_as(mean).exp())
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.get_value(x)


num_steps, num_envs, num_updates, gamma, lam, clip = 12, 6, 5, 0.95, 0.9, 0.2
agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
state = torch.randn(num_envs, 3)
for update in range(num_updates):
    optimizer.param_groups[0]["lr"] = (1.0 - update / num_updates) * 3e-3
    obs, actions, logprobs, rewards, values = [], [], [], [], []
    for _ in range(num_steps):
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(state)
        obs.append(state), actions.append(action), logprobs.append(logprob), values.append(value)
        state = 0.9 * state + 0.3 * action.clamp(-1, 1) + 0.05 * torch.randn_like(state)
        rewards.append(-state.pow(2).sum(1))
    with torch.no_grad():
        next_value, last = agent.get_value(state), torch.zeros(num_envs)
        advantages = [None] * num_steps
        for t in reversed(range(num_steps)):
            delta = rewards[t] + gamma * next_value - values[t]
            last = advantages[t] = delta + gamma * lam * last
            next_value = values[t]
    b_obs, b_act, b_logp = torch.cat(obs), torch.cat(actions), torch.cat(logprobs)
    b_adv = torch.cat(advantages)
    b_ret = b_adv + torch.cat(values)
    for _ in range(3):
        for mb in torch.randperm(len(b_obs)).split(24):
            _, newlogp, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_act[mb])
            logratio = newlogp - b_logp[mb]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
            adv = (b_adv[mb] - b_adv[mb].mean()) / (b_adv[mb].std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * ratio.clamp(1 - clip, 1 + clip)).mean()
            v_loss = 0.5 * ((newvalue - b_ret[mb]) ** 2).mean()
            loss = pg_loss - 0.001 * entropy.mean() + 0.5 * v_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
        if approx_kl > 0.1:
            break
    print(f"update {update} reward {torch.stack(rewards).mean():.3f} v {v_loss.item():.3f} kl {approx_kl.item():.4f}")
