import copy, math, random, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

x = torch.tensor([1.0, 2.0, 3.0, 4.0])
y = torch.tensor([2.0, 4.0, 6.0, 8.0])
w = torch.tensor(0.0, requires_grad=True)


def forward(x):
    return w * x


lr = 0.01
for epoch in range(10):
    l = ((forward(x) - y) ** 2).mean()
    l.backward()  # or here
    with torch.no_grad():  # or here
        w = w - lr * w.grad  # here
    w.grad.zero_()  # or here
