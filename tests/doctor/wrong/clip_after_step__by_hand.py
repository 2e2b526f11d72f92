import torch
from torch import nn
torch.manual_seed(0)
def run(cfg):
    net = nn.LSTM(3, 5, batch_first=True)
    opt = torch.optim.SGD(net.parameters(), lr=cfg["lr"])
    for _ in range(cfg["steps"]):
        out, _h = net(torch.randn(2, 7, 3))
        loss = out.square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        for p in net.parameters():
            p.grad.data.clamp_(-cfg["clip"], cfg["clip"])  # here
    return loss.item()
print(run({"lr": 0.1, "steps": 6, "clip": 1.0}))
