import torch
from torch import nn

torch.manual_seed(0)
student, teacher = nn.Linear(5, 3), nn.Linear(5, 3)
opt = torch.optim.Adam(teacher.parameters(), lr=1e-3)  # or here
for _ in range(6):
    x = torch.randn(8, 5)
    with torch.no_grad():
        target = teacher(x)
    loss = (student(x) - target).pow(2).mean()
    opt.zero_grad()
    student.zero_grad()
    loss.backward()
    opt.step()  # here
