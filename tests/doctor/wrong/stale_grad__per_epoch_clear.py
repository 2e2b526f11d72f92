import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
data = TensorDataset(torch.randn(60, 6), torch.randint(0, 3, (60,)))
loader = DataLoader(data, batch_size=10, shuffle=True)
net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
opt = torch.optim.Adam(net.parameters(), 1e-3)


def run_epoch():
    total = 0.0
    opt.zero_grad()
    for x, y in loader:
        loss = F.cross_entropy(net(x), y)
        loss.backward()  # here
        opt.step()  # or here
        total += loss.item()
    return total / len(loader)


for epoch in range(3):
    print(epoch, f"{run_epoch():.3f}")
