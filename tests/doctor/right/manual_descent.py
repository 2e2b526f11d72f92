import torch

w, b = torch.randn(3, 1, requires_grad=True), torch.zeros(1, requires_grad=True)
x, y = torch.randn(32, 3), torch.randn(32, 1)
for _ in range(8):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
    w.grad, b.grad = None, None
