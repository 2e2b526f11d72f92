"""Contractive penalty report and saliency per class: one graph, a backward per class, retain_graph at each call."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)
n_classes = 5
net = nn.Sequential(nn.Linear(10, 24), nn.Softplus(), nn.Linear(24, n_classes))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
X = torch.randn(150, 10)
Y = X[:, :n_classes].argmax(1)


def saliency(model, x):
    """|d logit_c / d x| for every class c, shape (classes, batch, features)."""
    x = x.clone().requires_grad_(True)
    logits = model(x)
    maps = []
    for c in range(n_classes):
        grad = torch.autograd.grad(logits[:, c].sum(), x, retain_graph=True)[0]
        maps.append(grad.abs())
    return torch.stack(maps)


def class_gradients(model, x):
    """The gradient of each class score in the first layer's weight, read from .grad."""
    scores = model(x).mean(0)
    rows = []
    for c in range(n_classes):
        model.zero_grad()
        scores[c].backward(retain_graph=True)
        rows.append(model[0].weight.grad.norm().item())
    model.zero_grad()
    return rows


for epoch in range(5):
    net.train()
    for idx in torch.randperm(150).split(15):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(X[idx]), Y[idx])
        loss.backward()
        optimizer.step()
    net.eval()
    importance = saliency(net, X[:20]).mean((0, 1))
    norms = class_gradients(net, X[:20])
    print(f"epoch {epoch} loss {loss.item():.3f} top feature {importance.argmax().item()} "
          f"norms {[round(n, 2) for n in norms]}")
