import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 50)
y = 3 * x + 0.5
a = torch.zeros(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
rate = 0.01
for it in range(20):
    prediction = a * x + b
    loss = ((prediction - y) ** 2).mean()
    loss.backward()  # here
    with torch.no_grad():
        a -= rate * a.grad  # or here
        b -= rate * b.grad  # or here
    if it % 10 == 0:
        print(it)
