import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
opt.register_step_pre_hook(lambda optimizer, args, kwargs: nn.utils.clip_grad_norm_(model.parameters(), 1.0) and None)
opt.register_step_post_hook(lambda optimizer, args, kwargs: optimizer.zero_grad())
for _ in range(25):
    F.mse_loss(model(torch.randn(8, 4)), torch.randn(8, 1)).backward()
    opt.step()
