import copy
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
x, xv = torch.randn(60, 4), torch.randn(20, 4)
best, best_state, patience = float("inf"), None, 3
for epoch in range(15):
    net.train()
    for i in range(0, 60, 20):
        opt.zero_grad()
        nn.functional.mse_loss(net(x[i : i + 20]), x[i : i + 20, :1]).backward()
        opt.step()
    net.eval()
    with torch.inference_mode():
        v = nn.functional.mse_loss(net(xv), xv[:, :1]).item()
    if v < best:
        best, best_state, patience = v, copy.deepcopy(net.state_dict()), 3
    else:
        patience -= 1
        if not patience:
            break
net.load_state_dict(best_state)
