import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 30).unsqueeze(1)
y = torch.sin(3 * x)
net = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
opt = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=5)


def closure():
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()  # here
    return loss


for epoch in range(4):
    opt.step(closure)  # or here
    print(epoch)
