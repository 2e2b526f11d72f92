import torch

torch.manual_seed(0)


def sigmoid_model(x, w, b):
    return torch.sigmoid(x @ w + b)


def nll(p, y, eps=1e-7):
    p = p.clamp(eps, 1 - eps)
    return -(y * p.log() + (1 - y) * (1 - p).log()).mean()


n, d, lr, epochs = 120, 4, 0.5, 5
x = torch.randn(n, d)
y = (x @ torch.tensor([1.0, -2.0, 0.5, 0.0]) > 0).float()

w = torch.zeros(d, requires_grad=True)
b = torch.zeros(1, requires_grad=True)

for epoch in range(epochs):
    order = torch.randperm(n)
    for i in range(0, n, 24):
        idx = order[i:i + 24]
        loss = nll(sigmoid_model(x[idx], w, b), y[idx])
        loss.backward()  # or here
        with torch.no_grad():  # or here
            w = w - lr * w.grad  # here
            b -= lr * b.grad
            b.grad.zero_()
    with torch.no_grad():
        acc = ((sigmoid_model(x, w, b) > 0.5).float() == y).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
