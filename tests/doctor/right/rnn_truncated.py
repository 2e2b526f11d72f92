import torch
import torch.nn.functional as F
from torch import nn

rnn, head = nn.LSTM(2, 4, batch_first=True), nn.Linear(4, 2)
opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
state = None
for _ in range(6):
    x = torch.randn(3, 5, 2)
    if state is not None:
        state = tuple(s.detach() for s in state)
    out, state = rnn(x, state)
    loss = F.mse_loss(head(out), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
