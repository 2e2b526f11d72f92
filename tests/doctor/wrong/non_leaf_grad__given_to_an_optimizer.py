import torch
from torch import nn

content = torch.rand(1, 3, 8, 8)
features = nn.Conv2d(3, 4, 3).requires_grad_(False)
image = nn.Parameter(content.clone()).double().float()  # here
optimizer = torch.optim.LBFGS([image])  # or here
for _ in range(3):

    def closure():
        optimizer.zero_grad()
        loss = features(image).pow(2).mean()
        loss.backward()
        return loss

    optimizer.step(closure)
