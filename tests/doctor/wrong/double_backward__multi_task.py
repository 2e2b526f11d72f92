import torch
from torch import nn
from torch.nn import functional as F


class SharedTrunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(9, 32), nn.Tanh())
        self.cls = nn.Linear(32, 4)
        self.reg = nn.Linear(32, 1)

    def forward(self, x):
        z = self.trunk(x)
        return self.cls(z), self.reg(z)


def train_one_batch(net, opt, x, label, value):
    opt.zero_grad()
    logits, pred = net(x)
    loss_cls = F.cross_entropy(logits, label)
    loss_reg = F.mse_loss(pred.squeeze(1), value)
    loss_cls.backward()  # here
    loss_reg.backward()  # or here
    opt.step()
    return loss_cls.item(), loss_reg.item()


def main():
    torch.manual_seed(2)
    net = SharedTrunk()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(12):
        x = torch.randn(20, 9)
        label = x[:, :4].argmax(1)
        value = x.mean(1)
        a, b = train_one_batch(net, opt, x, label, value)
        print(step, round(a, 3), round(b, 3))


main()
