import torch
from torch import nn


class Smooth(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = None

    def forward(self, loss):
        self.value = loss if self.value is None else 0.99 * self.value + 0.01 * loss  # here
        return loss


net, smooth = nn.Linear(4, 1), Smooth()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(25):
    x = torch.randn(8, 4)
    loss = smooth(nn.functional.mse_loss(net(x), x[:, :1]))
    opt.zero_grad()
    loss.backward()
    opt.step()
