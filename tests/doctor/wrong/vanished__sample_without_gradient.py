import torch
from torch import nn
torch.manual_seed(0)
class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.lv, self.dec = nn.Linear(6, 8), nn.Linear(8, 2), nn.Linear(8, 2), nn.Linear(2, 6)
    def encode(self, x):
        h = torch.relu(self.enc(x))
        return self.mu(h), self.lv(h)
    def sample(self, mu, lv):
        return torch.normal(mu, (0.5 * lv).exp())  # here
    def loss(self, x):
        mu, lv = self.encode(x)
        return (self.dec(self.sample(mu, lv)) - x).pow(2).mean()
v = VAE()
opt = torch.optim.Adam(v.parameters(), 1e-3)
for _ in range(10):
    opt.zero_grad()
    v.loss(torch.randn(8, 6)).backward()
    opt.step()
print("x")
