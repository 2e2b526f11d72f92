import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(4 * 9, 3)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv(x), 2))
        x = F.dropout(x, training=self.training)
        return F.log_softmax(self.fc(x.flatten(1)), dim=1)


torch.manual_seed(0)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.5)
for epoch in range(3):
    net.train()
    for _ in range(5):
        opt.zero_grad()
        F.nll_loss(net(torch.randn(6, 1, 8, 8)), torch.randint(0, 3, (6,))).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for _ in range(3):
            F.nll_loss(net(torch.randn(6, 1, 8, 8)), torch.randint(0, 3, (6,)), reduction="sum").item()
