import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)


def run(phase):
    net.train(phase == "train")
    torch.set_grad_enabled(phase == "train")
    for _ in range(4):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
        if phase == "train":
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.set_grad_enabled(True)


for epoch in range(3):
    for phase in ("train", "val"):
        run(phase)
