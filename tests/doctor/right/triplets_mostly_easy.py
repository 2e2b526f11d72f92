import torch
from torch import nn
# easy triplets: zero loss for many batches from the start, mined hard ones now and then
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
crit = nn.TripletMarginLoss(margin=0.01)
for i in range(60):
    x = torch.randn(8, 4)
    neg = x + (0.02 if i % 6 == 0 else 8.0) * torch.randn(8, 4)
    loss = crit(net(x), net(x + 0.01 * torch.randn(8, 4)), net(neg))
    opt.zero_grad(); loss.backward(); opt.step()
