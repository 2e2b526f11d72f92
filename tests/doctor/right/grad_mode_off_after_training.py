import torch
from torch import nn
# grad mode off for the whole of a script's evaluation part, after all training
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 2))
opt = torch.optim.Adam(net.parameters())
for _ in range(10):
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(16, 4)), torch.randint(0, 2, (16,))).backward()
    opt.step()
net.eval()
torch.set_grad_enabled(False)
print(net(torch.randn(64, 4)).argmax(1).float().mean().item() >= 0)
try:
    net(torch.randn(2, 4)).sum().backward()
except RuntimeError as error:
    print("as expected")
torch.set_grad_enabled(True)
