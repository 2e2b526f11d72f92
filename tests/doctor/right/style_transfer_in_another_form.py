import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
vgg = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 8, 3, padding=1)).eval()
for p in vgg.parameters():
    p.requires_grad_(False)


def gram(x):
    n, c, h, w = x.shape
    f = x.view(n * c, h * w)
    return f @ f.t() / (n * c * h * w)


content, style = torch.rand(1, 3, 8, 8), torch.rand(1, 3, 8, 8)
image = content.clone().requires_grad_(True)
opt = torch.optim.LBFGS([image])
run = [0]
while run[0] <= 20:

    def closure():
        with torch.no_grad():
            image.clamp_(0, 1)
        opt.zero_grad()
        f = vgg(image)
        loss = 100 * F.mse_loss(gram(f), gram(vgg(style)).detach()) + F.mse_loss(f, vgg(content).detach())
        loss.backward()
        run[0] += 1
        return loss

    opt.step(closure)
