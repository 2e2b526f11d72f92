import torch

torch.manual_seed(0)
x, y = torch.randn(30, 2), torch.randn(30)


def fit(steps, lr):
    w = torch.zeros(2, requires_grad=True)
    for _ in range(steps):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()
        w = w - lr * w.grad  # here
    return w


try:
    fit(5, 0.1)
except TypeError:
    print("None")
