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
    scaler.unscale_(opt)
    for p in net.parameters():
        p.grad.data.clamp_(-0.1, 0.1)
    scaler.step(opt)
    scaler.update()
opt2 = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(6):
    loss = net(torch.randn(5, 3)).float().pow(2).mean()
    loss.backward()
    for p in net.parameters():
        p.grad.clamp_(-0.1, 0.1)
    opt2.step()
    opt2.zero_grad()
print("ok")
