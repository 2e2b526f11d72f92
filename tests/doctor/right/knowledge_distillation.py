import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
teacher = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 4)).eval()
student = nn.Linear(6, 4)
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
T, alpha = 4.0, 0.7
for _ in range(12):
    x, y = torch.randn(16, 6), torch.randint(0, 4, (16,))
    with torch.no_grad():
        t = teacher(x)
    s = student(x)
    soft = F.kl_div(F.log_softmax(s / T, 1), F.softmax(t / T, 1), reduction="batchmean") * T * T
    loss = alpha * soft + (1 - alpha) * F.cross_entropy(s, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
