import torch

w = torch.randn(4, requires_grad=True)
x = torch.randn(8, 4)
for _ in range(4):
    loss = (x @ w).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad  # here
