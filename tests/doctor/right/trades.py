import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

net = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def trades(x, y, eps=0.2, step=0.05, n=3, beta=3.0):
    kl = nn.KLDivLoss(reduction="sum")
    net.eval()
    adv = x.detach() + 0.001 * torch.randn_like(x)
    for _ in range(n):
        adv.requires_grad_()
        with torch.enable_grad():
            lk = kl(F.log_softmax(net(adv), 1), F.softmax(net(x), 1))
        g = torch.autograd.grad(lk, [adv])[0]
        adv = adv.detach() + step * g.sign()
        adv = torch.min(torch.max(adv, x - eps), x + eps)
    net.train()
    adv = adv.detach()
    opt.zero_grad()
    logits = net(x)
    return F.cross_entropy(logits, y) + beta / len(x) * kl(F.log_softmax(net(adv), 1), F.softmax(logits, 1))


for step in range(8):
    x = torch.randn(24, 6)
    loss = trades(x, x[:, :3].argmax(1))
    loss.backward()
    opt.step()
    if step % 3 == 0:
        print(step, round(loss.item(), 3))
