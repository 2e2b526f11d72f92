import torch
from torch import nn
torch.manual_seed(0)
pi = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
opt = torch.optim.Adam(pi.parameters())
for _ in range(5):
    s, a, adv = torch.randn(10, 4), torch.randint(0, 3, (10, 1)), torch.randn(10)
    logp = torch.log_softmax(pi(s), 1).gather(1, a)
    loss = -(logp * adv).mean()  # here
    opt.zero_grad(); loss.backward(); opt.step()
print("x")
