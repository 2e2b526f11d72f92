import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
# behaviour cloning
bc = torch.optim.Adam(policy.parameters(), lr=1e-3)
for _ in range(10):
    s = torch.randn(32, 4)
    loss = F.cross_entropy(policy(s), s[:, :3].argmax(1))
    bc.zero_grad()
    loss.backward()
    bc.step()
# reward model
rm = nn.Sequential(nn.Linear(7, 16), nn.ReLU(), nn.Linear(16, 1))
ro = torch.optim.Adam(rm.parameters(), lr=1e-3)
for _ in range(8):
    s = torch.randn(32, 4)
    good, bad = F.one_hot(s[:, :3].argmax(1), 3).float(), F.one_hot(s[:, :3].argmin(1), 3).float()
    loss = -F.logsigmoid(rm(torch.cat([s, good], 1)) - rm(torch.cat([s, bad], 1))).mean()
    ro.zero_grad()
    loss.backward()
    ro.step()
rm.requires_grad_(False)
ref = copy.deepcopy(policy).requires_grad_(False)
po = torch.optim.Adam(policy.parameters(), lr=5e-4)
for it in range(5):
    s = torch.randn(32, 4)
    with torch.no_grad():
        old = torch.distributions.Categorical(logits=policy(s))
        a = old.sample()
        lp_old, lp_ref = old.log_prob(a), torch.distributions.Categorical(logits=ref(s)).log_prob(a)
        r = rm(torch.cat([s, F.one_hot(a, 3).float()], 1)).squeeze(1) - 0.1 * (lp_old - lp_ref)
        adv = (r - r.mean()) / (r.std() + 1e-8)
    for _ in range(3):
        ratio = (torch.distributions.Categorical(logits=policy(s)).log_prob(a) - lp_old).exp()
        loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
        po.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        po.step()
    print(it, round(r.mean().item(), 2))
