import torch
from torch import nn
torch.manual_seed(0)
V = 13
net = nn.Sequential(nn.Embedding(V, 8), nn.Linear(8, V))
opt = torch.optim.AdamW(net.parameters())
for it in range(5):
    micro = []
    for n in (3, 8, 15):
        x, y = torch.randint(0, V, (2, 16)), torch.randint(0, V, (2, 16))
        y[:, n:] = -100
        micro.append((x, y))
    total = sum((y != -100).sum() for _, y in micro)
    opt.zero_grad()
    for x, y in micro:
        loss = nn.functional.cross_entropy(net(x).view(-1, V), y.view(-1), ignore_index=-100, reduction="sum") / total
        loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
print("ok")
