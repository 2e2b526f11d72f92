"""Weight averaging: the averaged network is evaluated after each epoch."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(10, 40)
        self.dropout = nn.Dropout(0.25)
        self.b = nn.Linear(40, 1)

    def forward(self, x):
        return self.b(self.dropout(torch.tanh(self.a(x)))).squeeze(1)


@torch.no_grad()
def ema_update(avg, net, decay=0.9):
    for pa, p in zip(avg.parameters(), net.parameters()):
        pa.mul_(decay).add_(p, alpha=1 - decay)


net = Net()
averaged = copy.deepcopy(net).requires_grad_(False)  # or here
opt = torch.optim.AdamW(net.parameters(), lr=5e-3)
x, y = torch.randn(240, 10), None
y = x[:, 0].sin() + x[:, 1]
x_val, y_val = x[160:], y[160:]
x, y = x[:160], y[:160]

for epoch in range(5):
    net.train()
    for i in torch.randperm(len(x)).split(16):
        loss = F.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema_update(averaged, net)
    net.eval()  # here
    val = 0.0
    with torch.no_grad():  # or here
        for xv, yv in zip(x_val.split(16), y_val.split(16)):  # or here
            val += F.mse_loss(averaged(xv), yv, reduction="sum").item()  # or here
    print(f"epoch {epoch} averaged val mse {val / len(x_val):.4f}")
