import torch
import torch.nn as nn

torch.manual_seed(0)
lin1 = nn.Linear(5, 10)
lin2 = nn.Linear(10, 1)
opt = torch.optim.SGD(list(lin1.parameters()) + list(lin2.parameters()), lr=0.05)
x = torch.randn(64, 5)
y = x[:, :1] ** 2

for epoch in range(20):
    h = torch.sigmoid(lin1(x))
    out = lin2(h)
    h.data.clamp_(0.2, 0.8)  # here
    loss = ((out - y) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 5 == 0:
        print(epoch, loss.item())
