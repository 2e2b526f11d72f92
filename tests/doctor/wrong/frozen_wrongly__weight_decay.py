import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 8), nn.Linear(8, 2)

    def freeze_body(self):
        for p in self.body.parameters():
            p.requires_grad_(False)  # here

    def forward(self, x):
        return self.head(self.body(x).tanh())

net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=1e-2)
for step in range(12):
    if step == 6:
        net.freeze_body()
    loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    for p in net.parameters():
        if p.grad is not None:
            p.grad.zero_()
    loss.backward()
    opt.step()
