"""Adversarial training: PGD in eval mode with input gradients, then a train-mode step; FGSM reads x.grad at test time."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(103)


def pgd(model, x, y, eps=0.3, alpha=0.1, steps=4):
    was_training = model.training
    model.eval()
    delta = torch.empty_like(x).uniform_(-eps, eps)
    for _ in range(steps):
        delta.requires_grad_(True)
        loss = F.cross_entropy(model(x + delta), y)
        grad, = torch.autograd.grad(loss, delta)
        delta = (delta.detach() + alpha * grad.sign()).clamp(-eps, eps)
    model.train(was_training)
    return (x + delta).detach()


def fgsm_accuracy(model, loader, eps):
    model.eval()
    correct = 0
    for data, target in loader:
        data.requires_grad = True
        loss = F.nll_loss(F.log_softmax(model(data), dim=1), target)
        model.zero_grad()
        loss.backward()
        perturbed = data + eps * data.grad.sign()
        with torch.no_grad():
            correct += (model(perturbed).argmax(1) == target).sum().item()
    model.zero_grad()
    return correct / len(loader.dataset)


X = torch.randn(240, 10)
Y = (X[:, :3] * 2).argmax(1)
train = DataLoader(TensorDataset(X[:180], Y[:180]), batch_size=18, shuffle=True)
test = DataLoader(TensorDataset(X[180:], Y[180:]), batch_size=12)
model = nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    model.train()
    for xb, yb in train:
        x_adv = pgd(model, xb, yb)
        optimizer.zero_grad()
        loss = 0.5 * F.cross_entropy(model(xb), yb) + 0.5 * F.cross_entropy(model(x_adv), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} clean {fgsm_accuracy(model, test, 0.0):.3f} "
          f"fgsm {fgsm_accuracy(model, test, 0.3):.3f}")
