import torch
from torch import nn
# an optimizer that is only used to clear: norms of gradients are measured
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
norms = []
for _ in range(6):
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(8, 4)), torch.randint(0, 2, (8,))).backward()
    norms.append(net.weight.grad.norm().item())
print(len(norms))
