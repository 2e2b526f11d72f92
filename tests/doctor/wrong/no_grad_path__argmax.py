import torch
import torch.nn.functional as F
from torch import nn

net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    predicted = net(torch.randn(8, 4)).argmax(1)  # here
    loss = F.mse_loss(predicted.float(), torch.zeros(8))
    opt.zero_grad()
    loss.backward()
    opt.step()
