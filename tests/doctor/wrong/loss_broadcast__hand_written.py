"""Linear regression by hand: parameters, loss and update without nn.Module."""
import torch


def synthetic_data(w, b, n):
    X = torch.randn(n, len(w))
    return X, X @ w + b + 0.01 * torch.randn(n)


def data_iter(batch_size, X, y):
    order = torch.randperm(len(X))
    for i in range(0, len(X), batch_size):
        j = order[i:i + batch_size]
        yield X[j], y[j]


def linreg(X, w, b):
    return X @ w + b


def squared_loss(y_hat, y):
    return ((y_hat - y) ** 2 / 2).mean()  # here


def sgd(params, lr):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad.zero_()


torch.manual_seed(0)
true_w, true_b = torch.tensor([2.0, -3.4]), 4.2
X, y = synthetic_data(true_w, true_b, 200)
w = (0.01 * torch.randn(2, 1)).requires_grad_()  # or here
b = torch.zeros(1, requires_grad=True)
for epoch in range(4):
    for xb, yb in data_iter(20, X, y):
        loss = squared_loss(linreg(xb, w, b), yb)  # or here
        loss.backward()
        sgd([w, b], lr=0.1)
    print(f"epoch {epoch} loss {loss.item():.4f} w {w.detach().flatten().tolist()}")
