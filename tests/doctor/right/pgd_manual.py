import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
x, y = torch.randn(8, 4), torch.randint(3, (8,))
delta = torch.zeros_like(x, requires_grad=True)
for _ in range(6):
    loss = F.cross_entropy(model(x + delta), y)
    loss.backward()
    delta.data = (delta + 0.1 * delta.grad.detach().sign()).clamp(-0.3, 0.3)
    delta.grad.zero_()
