import torch

torch.manual_seed(0)
points = torch.randn(6, 2, requires_grad=True)
opt = torch.optim.SGD([points], lr=0.01)
for _ in range(4):
    d = points[:, None] - points[None]
    dist = d.pow(2).sum(-1).sqrt()  # here
    loss = (dist - 1).pow(2).sum()
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
