"""Linear regression by hand: only the weight's gradient is cleared."""
import torch

torch.manual_seed(0)
X = torch.randn(64, 3)
Y = X @ torch.tensor([1.0, -2.0, 0.5]) + 0.3
weight = torch.zeros(3, requires_grad=True)
bias = torch.zeros(1, requires_grad=True)
for epoch in range(6):
    loss = ((X @ weight + bias - Y) ** 2).mean()
    loss.backward()  # here
    with torch.no_grad():
        weight-=0.1*weight.grad
        bias-=0.1*bias.grad  # or here
        weight.grad.zero_()
