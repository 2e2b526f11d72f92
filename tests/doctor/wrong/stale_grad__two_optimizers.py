import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(10, 24), nn.GELU())
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.encoder(x))


def build_optimizers(net):
    opt_body = torch.optim.SGD(net.encoder.parameters(), lr=0.01)
    opt_head = torch.optim.Adam(net.head.parameters(), lr=1e-3)
    return opt_body, opt_head


def batches(num, g):
    for _ in range(num):
        x = torch.randn(16, 10, generator=g)
        y = x[:, :3].argmax(dim=1)
        yield x, y


def run(steps=30):
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(5)
    net = Net()
    opt_body, opt_head = build_optimizers(net)
    net.train()
    for step, (x, y) in enumerate(batches(steps, g)):
        opt_head.zero_grad()  # or here
        loss = F.cross_entropy(net(x), y)
        loss.backward()  # here
        opt_body.step()  # or here
        opt_head.step()
        if step % 10 == 9:
            print(f"step {step + 1:3d} loss {loss.item():.4f}")


if __name__ == "__main__":
    run()
