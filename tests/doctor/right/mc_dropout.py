import torch
import torch.nn.functional as F
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model.train()
for i in range(8):
    opt.zero_grad()
    F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
    opt.step()
model.eval()
for m in model.modules():
    if isinstance(m, nn.Dropout):
        m.train()
x = torch.randn(4, 4)
with torch.no_grad():
    samples = torch.stack([model(x) for _ in range(10)])
print(samples.std(0).shape)
