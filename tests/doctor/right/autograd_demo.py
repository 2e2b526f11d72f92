import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x**2).sum()
y.backward()
print(x.grad)
y = (x**2).sum()
y.backward()
print(x.grad)
x.grad.zero_()
(x * 3).sum().backward()
print(x.grad)
z = x.detach()
print(z.requires_grad)
try:
    z.sum().backward()
except RuntimeError:
    print("no graph")
a = torch.tensor(3.0, requires_grad=True)
b = a * a
b.backward()
try:
    b.backward()
except RuntimeError:
    print("freed")
a.backward()
