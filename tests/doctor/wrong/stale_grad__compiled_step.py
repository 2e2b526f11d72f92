import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)


@torch.compile
def train_step(x, y):
    loss = F.mse_loss(net(x), y)
    loss.backward()  # here
    opt.step()  # or here
    return loss


for i in range(8):
    train_step(torch.randn(16, 5), torch.randn(16, 1))
