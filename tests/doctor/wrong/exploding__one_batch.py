import torch
from torch import nn
torch.manual_seed(0)
class Reg:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Linear(8, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05)
    def fit(self, batches):
        for x, y in batches:
            loss = nn.functional.mse_loss(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()  # here
            self.opt.step()  # or here
bs = [(torch.randn(8, 2), torch.randn(8, 1)) for _ in range(40)]
bs[25] = (bs[25][0] * 1e9, bs[25][1])
Reg().fit(bs)
print("x")
