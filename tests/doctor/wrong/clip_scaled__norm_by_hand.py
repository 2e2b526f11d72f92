import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
scaler = torch.amp.GradScaler("cpu")
def clip(params, limit):
    total = torch.sqrt(sum(p.grad.norm() ** 2 for p in params))
    for p in params:
        p.grad.mul_(limit / (total + 1e-6))  # here
for _ in range(6):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.randn(5, 3)).float().pow(2).mean()
    scaler.scale(loss).backward()
    clip(list(net.parameters()), 1.0)
    scaler.step(opt)
    scaler.update()
print("ok")
