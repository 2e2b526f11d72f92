import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

def pretrain(net, n=12):
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(n):
        x = torch.randn(8, 6)
        opt.zero_grad()
        F.mse_loss(net(x).sum(1), x.sum(1)).backward()
        opt.step()



enc = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6))
pretrain(enc)


class Classifier(nn.Module):
    def __init__(self, enc):
        super().__init__()
        self.enc, self.head = enc, nn.Linear(6, 3)

    def forward(self, x):
        h = self.enc(x)
        return F.softmax(self.head(h), dim=1)  # here


clf = Classifier(enc)
optimizer = torch.optim.SGD(clf.parameters(), lr=0.1)
for i in range(5):
    x = torch.randn(16, 6)
    loss = F.cross_entropy(clf(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(i, round(loss.item(), 3))
