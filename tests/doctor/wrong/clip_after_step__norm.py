import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.RNN(3, 5, batch_first=True)
opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
for _ in range(6):
    opt.zero_grad()
    rnn(torch.randn(2, 9, 3))[0].pow(2).mean().backward()
    opt.step()
    torch.nn.utils.clip_grad_norm_(rnn.parameters(), max_norm=0.5)  # here
