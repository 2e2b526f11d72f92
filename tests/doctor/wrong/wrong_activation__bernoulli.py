import torch
from torch import nn
torch.manual_seed(0)
class Pi(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 1)
    def forward(self, s): return torch.sigmoid(self.l(s))  # here
pi = Pi()
opt = torch.optim.Adam(pi.parameters())
for _ in range(5):
    d = torch.distributions.Bernoulli(logits=pi(torch.randn(8, 4)))  # or here
    a = d.sample()
    loss = -(d.log_prob(a) * torch.randn(8, 1)).mean()  # or here
    opt.zero_grad(); loss.backward(); opt.step()
print("x")
