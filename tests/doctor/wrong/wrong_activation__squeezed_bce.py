import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())  # here
opt = torch.optim.Adam(net.parameters())
crit = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([2.0]))
for _ in range(5):
    p = net(torch.randn(6, 4)).squeeze(1)
    loss = crit(p, torch.randint(0, 2, (6,)).float())  # or here
    opt.zero_grad()
    loss.backward()
    opt.step()
print("x")
