import torch

w = torch.randn(4, requires_grad=True) * 0.1  # here
x = torch.randn(8, 4)
loss = (x @ w).pow(2).mean()
loss.backward()
print(w.grad)
