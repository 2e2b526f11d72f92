import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
def one():
    loss = net(torch.randn(6, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss
ls = [one() for _ in range(20)]  # here
print(torch.stack(ls).mean().item())
