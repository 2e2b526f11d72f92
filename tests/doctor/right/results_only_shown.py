import torch
from torch import nn
# statements whose result is shown in a notebook's manner, without a fault
torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(6):
    x = torch.randn(8, 4)
    loss = nn.functional.mse_loss(net(x).squeeze(1), x[:, 0])
    loss.detach()
    loss / 8
    opt.zero_grad(); loss.backward(); opt.step()
net.eval
opt.step
loss.item()
