import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(6, 2)
opt = torch.optim.SGD(net.parameters(), lr=1e-7)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for _ in range(6):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(0, 2, (8,)))
    scaler.scale(loss).backward()
    opt.step()  # here
    scaler.update()
