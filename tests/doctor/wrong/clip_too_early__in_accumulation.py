import torch
from torch import nn

torch.manual_seed(0)
net = nn.LSTM(4, 6, batch_first=True)
opt = torch.optim.Adam(net.parameters())
for step in range(6):
    opt.zero_grad()
    for k in range(3):
        loss = net(torch.randn(2, 5, 4))[0].pow(2).mean() / 3
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.1)  # here
    opt.step()
