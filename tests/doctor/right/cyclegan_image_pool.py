import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class ImagePool:
    def __init__(self, size):
        self.size, self.images = size, []

    def query(self, images):
        out = []
        for image in images:
            image = image.unsqueeze(0)
            if len(self.images) < self.size:
                self.images.append(image)
                out.append(image)
            elif random.random() > 0.5:
                i = random.randrange(self.size)
                out.append(self.images[i].clone())
                self.images[i] = image
            else:
                out.append(image)
        return torch.cat(out)


def gen():
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.InstanceNorm2d(6), nn.ReLU(True), nn.Conv2d(6, 1, 3, padding=1), nn.Tanh())


def disc():
    return nn.Sequential(nn.Conv2d(1, 6, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(6, 1, 4, 1, 1))


def set_requires_grad(nets, flag):
    for net in nets:
        for p in net.parameters():
            p.requires_grad = flag


G_A, G_B, D_A, D_B = gen(), gen(), disc(), disc()
og = torch.optim.Adam(itertools.chain(G_A.parameters(), G_B.parameters()), lr=2e-4, betas=(0.5, 0.999))
od = torch.optim.Adam(itertools.chain(D_A.parameters(), D_B.parameters()), lr=2e-4, betas=(0.5, 0.999))
schedulers = [torch.optim.lr_scheduler.LambdaLR(o, lambda e: 1.0 - max(0, e - 1) / 3) for o in (og, od)]
pool_a, pool_b = ImagePool(4), ImagePool(4)


def gan_loss(pred, real):
    return F.mse_loss(pred, torch.ones_like(pred) if real else torch.zeros_like(pred))


def backward_D(net, real, fake):
    loss = 0.5 * (gan_loss(net(real), True) + gan_loss(net(fake.detach()), False))
    loss.backward()
    return loss


for epoch in range(2):
    for i in range(3):
        a, b = torch.tanh(torch.randn(2, 1, 8, 8)), torch.tanh(torch.randn(2, 1, 8, 8) + 1)
        fake_b = G_A(a); rec_a = G_B(fake_b); fake_a = G_B(b); rec_b = G_A(fake_a)
        set_requires_grad([D_A, D_B], False)
        og.zero_grad()
        idt = F.l1_loss(G_A(b), b) + F.l1_loss(G_B(a), a)
        loss_g = gan_loss(D_A(fake_b), True) + gan_loss(D_B(fake_a), True) + 10 * (F.l1_loss(rec_a, a) + F.l1_loss(rec_b, b)) + 5 * idt
        loss_g.backward()
        og.step()
        set_requires_grad([D_A, D_B], True)
        od.zero_grad()
        la = backward_D(D_A, b, pool_b.query(fake_b))
        lb = backward_D(D_B, a, pool_a.query(fake_a))
        od.step()
    for s in schedulers:
        s.step()
    print(epoch, f"{loss_g.item():.3f} {la.item():.3f} {lb.item():.3f}")
