import torch
from torch import nn
torch.manual_seed(0)
class MulAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b + b
    @staticmethod
    def backward(ctx, grad_out):
        a, b = ctx.saved_tensors
        grad_a = grad_out * b
        grad_b = grad_out * a  # here
        return grad_a, grad_b  # or here
l1, l2 = nn.Linear(3, 3), nn.Linear(3, 3)
opt = torch.optim.SGD([*l1.parameters(), *l2.parameters()], 0.1)
for _ in range(4):
    x = torch.randn(5, 3)
    loss = MulAdd.apply(l1(x), l2(x)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
print("x")
