# Homework 2: linear regression with gradient descent
import torch

torch.manual_seed(0)
m = 80
X = torch.cat([torch.ones(m, 1), torch.randn(m, 3)], dim=1)
theta_true = torch.tensor([1.0, 2.0, -3.0, 0.5])
y = X @ theta_true + 0.1 * torch.randn(m)

theta = torch.zeros(4, requires_grad=True)
alpha = 2.2   # learning rate  # here

costs = []
for it in range(22):
    cost = ((X @ theta - y) ** 2).mean() / 2
    cost.backward()
    with torch.no_grad():
        theta -= alpha * theta.grad  # or here
    costs.append(cost.item())
    if it % 3 == 0:
        print("iter", it, "cost", cost.item(), "grad norm", theta.grad.norm().item())
    theta.grad.zero_()
print("theta", theta.tolist())
