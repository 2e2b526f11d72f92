import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
average = {k: v.clone() for k, v in model.state_dict().items()}
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    opt.zero_grad()
    F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
    opt.step()
    for k, v in model.state_dict().items():
        average[k].mul_(0.9).add_(v, alpha=0.1)
model.load_state_dict(average)
