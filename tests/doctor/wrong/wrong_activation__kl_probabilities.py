import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
student, teacher = nn.Linear(5, 3), nn.Linear(5, 3)
opt = torch.optim.Adam(student.parameters())
for _ in range(6):
    x = torch.randn(4, 5)
    with torch.no_grad():
        t = F.softmax(teacher(x), 1)
    s = F.softmax(student(x), 1)  # or here
    loss = F.kl_div(s, t, reduction="batchmean")  # here
    opt.zero_grad()
    loss.backward()
    opt.step()
