import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
net = nn.Linear(4, 3)
opt = torch.optim.Adam(net.parameters())
for _ in range(5):
    t = torch.softmax(torch.randn(6, 3), 1)
    out = net(torch.randn(6, 4))
    loss = F.kl_div(out, t, reduction="batchmean")  # here
    opt.zero_grad()
    loss.backward()
    opt.step()
print("x")
