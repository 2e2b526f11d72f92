"""Deep dream: a trained, frozen net; gradient ascent on the image by hand, grads normalised and zeroed by hand."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(104)
net = nn.Sequential(
    nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(6, 12, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(48, 2),
)
images = 0.3 * torch.randn(120, 1, 12, 12)
labels = torch.randint(0, 2, (120,))
images[labels == 1, :, ::3, :] += 1.0
images[labels == 0, :, :, ::3] += 1.0
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(3):
    for idx in torch.randperm(120).split(12):
        opt.zero_grad()
        loss = F.cross_entropy(net(images[idx]), labels[idx])
        loss.backward()
        opt.step()
    print(f"classifier epoch {epoch} loss {loss.item():.4f}")

net.eval()
for p in net.parameters():
    p.requires_grad_(False)
activations = {}
handle = net[3].register_forward_hook(lambda m, i, o: activations.__setitem__("conv2", o))


def dream(image, iterations=12, lr=0.1, octaves=(8, 12)):
    image = F.interpolate(image, size=octaves[0], mode="bilinear", align_corners=False)
    for size in octaves:
        image = F.interpolate(image.detach(), size=size, mode="bilinear", align_corners=False)
        image.requires_grad_(True)
        for _ in range(iterations):
            net(image)
            objective = activations["conv2"].norm()
            objective.backward()
            g = image.grad
            image.data += lr * g / (g.abs().mean() + 1e-8)
            image.data.clamp_(-3, 3)
            image.grad.zero_()
    return image.detach(), objective.item()


for k in range(3):
    out, strength = dream(images[k:k + 1])
    print(f"image {k} activation {strength:.3f} class scores {net(out).softmax(1)[0].tolist()}")
handle.remove()
