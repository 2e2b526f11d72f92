import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.Conv2d(6, 8, 3))
net.eval()
image = torch.rand(1, 3, 12, 12)
for octave in range(3):
    image = image.detach().clone().requires_grad_(True)
    for i in range(4):
        net.zero_grad()
        loss = net(image).norm()
        loss.backward()
        with torch.no_grad():
            image += 0.05 * image.grad / (image.grad.std() + 1e-8)
        image.grad.zero_()
