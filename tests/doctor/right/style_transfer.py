import torch
import torch.nn.functional as F
from torch import nn

net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3)).eval()
for p in net.parameters():
    p.requires_grad_(False)
content = torch.rand(1, 3, 12, 12)
image = content.clone().requires_grad_(True)
opt = torch.optim.LBFGS([image], max_iter=4)
target = net(content).detach()
for _ in range(3):

    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        opt.zero_grad()
        loss = F.mse_loss(net(image), target) + 1e-3 * (image[..., 1:] - image[..., :-1]).abs().mean()
        loss.backward()
        return loss

    opt.step(closure)
