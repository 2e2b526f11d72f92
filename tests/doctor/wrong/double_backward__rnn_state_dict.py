import torch
from torch import nn

torch.manual_seed(0)
cell = nn.LSTMCell(3, 7)
out = nn.Linear(7, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()])
state = {"h": torch.zeros(2, 7), "c": torch.zeros(2, 7)}
for t in range(5):
    h, c = cell(torch.randn(2, 3), (state["h"], state["c"]))  # or here
    state["h"], state["c"] = h, c  # here
    loss = out(h).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # or here
    opt.step()
