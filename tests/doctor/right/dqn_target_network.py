import random
import torch
from torch import nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
target = nn.Sequential(nn.Linear(4, 24), nn.ReLU(), nn.Linear(24, 2))
target.load_state_dict(policy.state_dict())
target.eval()
opt = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
memory = [(torch.randn(4), random.randrange(2), random.random(), torch.randn(4)) for _ in range(60)]
for step in range(14):
    state = torch.randn(1, 4)
    with torch.no_grad():
        action = policy(state).max(1)[1].view(1, 1)
    batch = random.sample(memory, 16)
    s = torch.stack([b[0] for b in batch])
    a = torch.tensor([[b[1]] for b in batch])
    r = torch.tensor([b[2] for b in batch])
    s2 = torch.stack([b[3] for b in batch])
    q = policy(s).gather(1, a)
    next_q = target(s2).max(1)[0].detach()
    loss = F.smooth_l1_loss(q, (r + 0.9 * next_q).unsqueeze(1))
    opt.zero_grad()
    loss.backward()
    for p in policy.parameters():
        p.grad.data.clamp_(-1, 1)
    opt.step()
    if step % 5 == 0:
        target.load_state_dict(policy.state_dict())
