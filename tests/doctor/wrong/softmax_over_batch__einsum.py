import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.gate, self.w = nn.Linear(d, k), nn.Parameter(torch.randn(k, d, d) * 0.2)

    def forward(self, x):
        g = self.gate(x).softmax(0)  # here
        y = torch.einsum("nd,kde->nke", x, self.w)
        return torch.einsum("nk,nke->ne", g, y)


torch.manual_seed(0)
net = nn.Sequential(Mixture(5, 3), nn.Tanh(), nn.Linear(5, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(8):
    x = torch.randn(12, 5)
    loss = nn.functional.mse_loss(net(x), x[:, :1])
    opt.zero_grad()
    loss.backward()
    opt.step()
print("ok")
