import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class GP(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_len, self.log_var, self.log_noise = (nn.Parameter(torch.zeros(())) for _ in range(3))

    def kernel(self, a, b):
        d = (a[:, None] - b[None]) ** 2
        return self.log_var.exp() * torch.exp(-0.5 * d / self.log_len.exp() ** 2)

    def nll(self, x, y):
        K = self.kernel(x, x) + (self.log_noise.exp() + 1e-4) * torch.eye(len(x))
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(y[:, None], L)
        return 0.5 * y @ alpha[:, 0] + L.diagonal().log().sum()


x = torch.linspace(0, 5, 20)
y = torch.sin(2 * x) + 0.1 * torch.randn(20)
gp = GP()
opt = torch.optim.LBFGS(gp.parameters(), lr=0.3, max_iter=4)
for it in range(5):
    def closure():
        opt.zero_grad()
        loss = gp.nll(x, y)
        loss.backward()
        return loss
    print(it, round(opt.step(closure).item(), 2))
