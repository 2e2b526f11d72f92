import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

from torch.distributions import Categorical, kl_divergence
from torch.nn.utils import parameters_to_vector, vector_to_parameters

policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))


def flat_grad(y, retain=False, create=False):
    g = torch.autograd.grad(y, policy.parameters(), retain_graph=retain, create_graph=create)
    return torch.cat([x.reshape(-1) for x in g])


def cg(Ax, b, n=5):
    x, r, p = torch.zeros_like(b), b.clone(), b.clone()
    rs = r @ r
    for _ in range(n):
        Ap = Ax(p)
        alpha = rs / (p @ Ap + 1e-8)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        p = r + new / rs * p
        rs = new
    return x


for it in range(4):
    obs = torch.randn(64, 4)
    with torch.no_grad():
        old = Categorical(logits=policy(obs))
        act = old.sample()
        adv = (act == obs[:, :3].argmax(1)).float() - 0.33
        old_logp = old.log_prob(act)
    surrogate = ((Categorical(logits=policy(obs)).log_prob(act) - old_logp).exp() * adv).mean()
    g = flat_grad(surrogate)
    kl = kl_divergence(Categorical(logits=old.logits), Categorical(logits=policy(obs))).mean()
    gk = flat_grad(kl, retain=True, create=True)

    def Hx(v):
        return flat_grad(gk @ v, retain=True) + 0.1 * v

    step = cg(Hx, g)
    beta = (2 * 0.01 / (step @ Hx(step) + 1e-8)).sqrt()
    with torch.no_grad():
        old_params = parameters_to_vector(policy.parameters())
        for k in range(5):
            vector_to_parameters(old_params + 0.5**k * beta * step, policy.parameters())
            new = Categorical(logits=policy(obs))
            if kl_divergence(old, new).mean() < 0.02:
                break
    print(it, f"{surrogate.item():.4f}")
