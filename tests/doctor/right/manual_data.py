import torch

w = torch.randn(3, requires_grad=True)
x, y = torch.randn(32, 3), torch.randn(32)
for _ in range(8):
    loss = ((x @ w - y) ** 2).sum()
    loss.backward()
    w.data -= 0.001 * w.grad.data
    w.grad.data.zero_()
