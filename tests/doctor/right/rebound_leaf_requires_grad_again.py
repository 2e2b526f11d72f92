import copy, math, random, itertools, functools, contextlib, threading
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

w = torch.zeros(3, requires_grad=True)
for t in range(8):
    x = torch.randn(16, 3)
    loss = ((x @ w) - x.sum(1)).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
    w.requires_grad_(True)
    print(t, round(loss.item(), 3))
