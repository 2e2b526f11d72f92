import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
scaler = torch.amp.GradScaler("cpu")
for _ in range(6):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = net(torch.randn(5, 3)).float().pow(2).mean()
    scaler.scale(loss).backward()
    for p in net.parameters():
        p.grad.clamp_(-1, 1)  # here
    scaler.step(opt)
    scaler.update()
print("ok")
