import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
probe = nn.Linear(16, 3)
opt = torch.optim.SGD(probe.parameters(), lr=0.1)
encoder.eval()
for _ in range(10):
    x, y = torch.randn(8, 8), torch.randint(0, 3, (8,))
    with torch.no_grad():
        f = encoder(x)
    opt.zero_grad()
    nn.functional.cross_entropy(probe(f), y).backward()
    opt.step()
