import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class LearnedOptimizer(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.rnn = nn.LSTMCell(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, g, state):
        h, c = self.rnn(g, state)
        return self.out(h) * 0.1, (h, c)


def quadratic():
    W, y = torch.randn(5, 5), torch.randn(5)
    return lambda theta: ((W @ theta - y) ** 2).sum()


opt_net = LearnedOptimizer()
meta_opt = torch.optim.Adam(opt_net.parameters(), lr=1e-2)
for episode in range(5):
    f = quadratic()
    theta = torch.randn(5, requires_grad=True)
    state = (torch.zeros(5, 8), torch.zeros(5, 8))
    total = 0.0
    for t in range(1, 11):
        loss = f(theta)
        total = total + loss
        g, = torch.autograd.grad(loss, theta, retain_graph=True)
        update, state = opt_net(g.detach().unsqueeze(1), state)
        theta = theta + update.squeeze(1)
        if t % 5 == 0:
            meta_opt.zero_grad()
            total.backward()
            meta_opt.step()
            theta = theta.detach().requires_grad_()
            state = tuple(s.detach() for s in state)
            total = 0.0
    print(episode, round(loss.item(), 3))
