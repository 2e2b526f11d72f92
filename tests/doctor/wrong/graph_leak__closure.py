import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), 0.1)
def make_tracker():
    total = [0.0]
    def track(l):
        total[0] = total[0] + l  # here
        return total[0]
    return track
track = make_tracker()
for i in range(20):
    loss = (net(torch.randn(4, 3)) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    running = track(loss)  # or here
print(float(running))
