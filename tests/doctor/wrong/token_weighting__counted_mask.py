import torch
from torch import nn
torch.manual_seed(0)
V = 11
net = nn.Sequential(nn.Embedding(V, 8), nn.Linear(8, V))
opt = torch.optim.Adam(net.parameters())
def micro(n):
    x = torch.randint(1, V, (2, 16))
    mask = (torch.arange(16) < n).float().expand(2, 16)
    return x, torch.randint(1, V, (2, 16)), mask
K = 3
for it in range(6):
    opt.zero_grad()
    for n in (2, 9, 16):
        x, y, mask = micro(n)
        ce = nn.functional.cross_entropy(net(x).transpose(1, 2), y, reduction="none")
        loss = (ce * mask).sum() / mask.sum()  # here
        (loss / K).backward()  # or here
    opt.step()
print("x")
