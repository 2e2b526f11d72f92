import sys
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, width)

    def forward(self, x):
        h = torch.exp(self.fc(x))
        h += x  # here
        return h


def main():
    torch.manual_seed(0)
    net = nn.Sequential(Residual(5), nn.Linear(5, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for i in range(5):
        loss = net(torch.randn(4, 5)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


if __name__ == "__main__":
    try:
        main()
    except Exception as error:
        print("training failed:", type(error).__name__)
        sys.exit(3)
