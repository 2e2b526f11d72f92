import torch
from torch import nn

model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    h = model(torch.randn(8, 4)).tanh()
    loss1, loss2 = h.pow(2).mean(), h.mean()
    opt.zero_grad()
    loss1.backward()  # or here
    loss2.backward()  # here
    opt.step()
