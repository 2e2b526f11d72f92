import torch

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
for i in range(6):
    loss = ((w - 1) ** 2).sum()
    loss.backward()
    for group in opt.param_groups:
        for p in group["params"]:
            p.grad.zero_()  # here
    opt.step()  # or here
