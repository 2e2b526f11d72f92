import torch
from collections import defaultdict
from torch import nn
torch.manual_seed(0)
logs = defaultdict(list)
enc = nn.Linear(6, 3)
dec = nn.Linear(3, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-2)
step = 0
while step < 20:
    x = torch.randn(8, 6)
    z = enc(x)
    rec = (dec(z) - x).pow(2).mean()
    reg = z.abs().mean()
    opt.zero_grad()
    (rec + 0.1 * reg).backward()
    opt.step()
    logs["rec"].append(rec.item())
    logs["reg"].append(reg)  # here
    step += 1
print(len(logs["reg"]), round(logs["rec"][-1], 4))
