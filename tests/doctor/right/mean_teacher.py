import copy

import torch
import torch.nn.functional as F
from torch import nn

student = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 3))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for i in range(8):
    x = torch.randn(8, 4)
    with torch.no_grad():
        soft = teacher(x).softmax(1)
    loss = F.kl_div(student(x).log_softmax(1), soft, reduction="batchmean")
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, b in zip(student.parameters(), teacher.parameters()):
            b.mul_(0.9).add_(a, alpha=0.1)
