"""Neural style transfer: LBFGS over the image, a frozen feature net, losses collected by modules in the net."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(110)


def gram_matrix(x):
    a, b, c, d = x.size()
    f = x.view(a * b, c * d)
    return (f @ f.t()) / (a * b * c * d)


class ContentLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target.detach()

    def forward(self, x):
        self.loss = F.mse_loss(x, self.target)
        return x


class StyleLoss(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = gram_matrix(target).detach()

    def forward(self, x):
        self.loss = F.mse_loss(gram_matrix(x), self.target)
        return x


def build(cnn, content_img, style_img):
    model, contents, styles = nn.Sequential(), [], []
    for i, layer in enumerate(cnn):
        model.add_module(f"layer_{i}", layer)
        if i == 2:
            contents.append(ContentLoss(model(content_img)))
            model.add_module("content_loss", contents[-1])
        if isinstance(layer, nn.Conv2d):
            styles.append(StyleLoss(model(style_img)))
            model.add_module(f"style_loss_{i}", styles[-1])
    return model.eval(), contents, styles


cnn = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
                    nn.Conv2d(8, 8, 3, padding=1))
for m in cnn:
    if isinstance(m, nn.Conv2d):
        nn.init.orthogonal_(m.weight)
cnn.requires_grad_(False)
content_img, style_img = torch.rand(1, 3, 16, 16), torch.rand(1, 3, 16, 16)
style_img[:, :, ::2] *= 0.2
model, contents, styles = build(cnn, content_img, style_img)
input_img = content_img.clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([input_img], max_iter=4)
run = [0]
while run[0] < 40:
    def closure():
        with torch.no_grad():
            input_img.clamp_(0, 1)
        optimizer.zero_grad()
        model(input_img)
        style_score = 1e4 * sum(s.loss for s in styles)
        content_score = sum(c.loss for c in contents)
        loss = style_score + content_score
        loss.backward()
        run[0] += 1
        if run[0] % 10 == 0:
            print(f"run {run[0]} style {style_score.item():.4f} content {content_score.item():.4f}")
        return loss

    optimizer.step(closure)
with torch.no_grad():
    input_img.clamp_(0, 1)
