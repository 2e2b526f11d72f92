import torch

w = torch.randn(4, requires_grad=True)
for _ in range(5):
    loss = ((torch.randn(8, 4) @ w) ** 2).mean()
    loss.backward()  # here
    with torch.no_grad():
        w -= 0.01 * w.grad  # or here
