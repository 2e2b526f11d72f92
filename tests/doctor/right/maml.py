import torch

w = torch.randn(4, 1, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.05)
for step in range(5):
    opt.zero_grad()
    total = 0.0
    for task in range(3):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        (g,) = torch.autograd.grad(((x @ w - y) ** 2).mean(), w, create_graph=True)
        fast = w - 0.1 * g
        total = total + ((x @ fast - y) ** 2).mean()
    (total / 3).backward()
    opt.step()
