import torch
from torch import nn


class Loop:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 2)

    def before_epoch(self):
        self.sched.step()  # here

    def run(self, epochs):
        for _ in range(epochs):
            self.before_epoch()
            for _ in range(3):
                x = torch.randn(8, 4)
                self.opt.zero_grad()
                nn.functional.mse_loss(self.net(x), x[:, :1]).backward()
                self.opt.step()


Loop(nn.Linear(4, 1)).run(4)
