import torch
torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
x = torch.randn(50, 4)
y = x.sum(1, keepdim=True)
curve = []
for i in range(30):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        w.grad.zero_()
    curve.append(loss)  # here
print(curve[-1].item())
