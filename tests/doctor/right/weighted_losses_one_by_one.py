import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(6):
    x, y = torch.randn(8, 4), torch.randn(8, 3)
    out = model(x)
    losses = [F.mse_loss(out[:, k], y[:, k]) for k in range(3)]
    opt.zero_grad()
    for k, (weight, loss) in enumerate(zip((1.0, 0.5, 0.1), losses)):
        (weight * loss).backward(retain_graph=k < 2)
    opt.step()
