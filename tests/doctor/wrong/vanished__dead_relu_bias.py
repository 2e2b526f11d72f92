import torch
import torch.nn as nn
torch.manual_seed(0)

x = torch.rand(256, 6)
y = (x.sum(1, keepdim=True) > 3).float()

l1 = nn.Linear(6, 20)
l2 = nn.Linear(20, 20)
l3 = nn.Linear(20, 1)
nn.init.constant_(l2.bias, -50.0)  # here
ps = [*l1.parameters(), *l2.parameters(), *l3.parameters()]
opt = torch.optim.SGD(ps, lr=0.05)
lf = nn.BCEWithLogitsLoss()

for ep in range(8):
    for i in range(0, 256, 32):
        h = torch.relu(l1(x[i:i+32]))
        h = torch.relu(l2(h))  # or here
        loss = lf(l3(h), y[i:i+32])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(ep, loss.item(), "grad l1", l1.weight.grad.norm().item())
