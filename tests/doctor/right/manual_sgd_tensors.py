"""Descent by hand: w.grad.zero_() for the first net, w.grad = None for the second; tail averaging through .data."""
import torch
import torch.nn.functional as F

torch.manual_seed(122)
n_in, hidden, lr = 5, 24, 0.05
X = torch.randn(200, n_in)
y = torch.sin(X[:, 0]) + 0.5 * X[:, 1]


def init():
    shapes = [(n_in, hidden), (hidden,), (hidden, 1), (1,)]
    return [(torch.randn(s) / s[0] ** 0.5 if len(s) > 1 else torch.zeros(s)).requires_grad_(True) for s in shapes]


def forward(w, x):
    return (torch.tanh(x @ w[0] + w[1]) @ w[2] + w[3]).squeeze(1)


first = init()
for epoch in range(4):
    for idx in torch.randperm(200).split(20):
        loss = F.mse_loss(forward(first, X[idx]), y[idx])
        loss.backward()
        with torch.no_grad():
            for w in first:
                w -= lr * w.grad
                w.grad.zero_()
    print(f"zeroing in place: epoch {epoch} loss {loss.item():.4f}")

second = init()
average = [w.detach().clone() for w in second]
count = 0
for epoch in range(4):
    for idx in torch.randperm(200).split(20):
        loss = F.mse_loss(forward(second, X[idx]), y[idx])
        loss.backward()
        for w in second:
            w.data.add_(w.grad.data, alpha=-lr)
            w.grad = None
        if epoch >= 1:
            count += 1
            for a, w in zip(average, second):
                a.data.add_((w.data - a.data) / count)
    with torch.no_grad():
        print(f"grad = None: epoch {epoch} last {F.mse_loss(forward(second, X), y):.4f} "
              f"averaged {F.mse_loss(forward(average, X), y):.4f}")
