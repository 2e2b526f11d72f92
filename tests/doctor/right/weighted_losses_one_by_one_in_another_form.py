import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
weights = [1.0, 0.5, 0.1]
for _ in range(10):
    x = torch.randn(8, 6)
    opt.zero_grad()
    out = net(x)
    for i, w in enumerate(weights):
        (w * nn.functional.mse_loss(out[:, i], x[:, i])).backward(retain_graph=i < 2)
    opt.step()
