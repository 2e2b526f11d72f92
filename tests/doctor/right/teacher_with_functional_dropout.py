import torch
from torch import nn
import torch.nn.functional as F


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(5, 3)

    def forward(self, x):
        return self.fc(F.dropout(x, 0.2, training=True))


torch.manual_seed(0)
student, teacher = Noisy(), Noisy()
opt = torch.optim.Adam(student.parameters())
for step in range(12):
    x = torch.randn(8, 5)
    with torch.no_grad():
        t = teacher(x).softmax(1)
    opt.zero_grad()
    loss = -(t * student(x).log_softmax(1)).sum(1).mean()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for p, q in zip(student.parameters(), teacher.parameters()):
            q.lerp_(p, 0.05)
