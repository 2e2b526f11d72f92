import torch
from torch import nn
torch.manual_seed(0)
class Clipper:
    def __call__(self, module):
        if hasattr(module, "weight"):
            module.weight.data = module.weight.data.clamp(-0.3, 0.3)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), 0.1)
h = None
for _ in range(6):
    x = torch.randn(4, 3)
    hid = net[1](net[0](x))
    hid.data.add_(0.1)  # here
    loss = net[2](hid).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    net.apply(Clipper())
print("x")
