import torch
import torch.nn.functional as F

mu, rho = torch.zeros(4, requires_grad=True), torch.zeros(4, requires_grad=True)
opt = torch.optim.Adam([mu, rho], lr=0.05)
x, y = torch.randn(32, 4), torch.randn(32)
for i in range(6):
    opt.zero_grad()
    for _ in range(4):
        w = mu + F.softplus(rho) * torch.randn(4)
        loss = ((x @ w - y) ** 2).mean() + 0.01 * (mu**2).mean()
        loss.backward()
    opt.step()
