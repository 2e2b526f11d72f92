import torch
from torch import nn

torch.manual_seed(0)
cell, out = nn.GRUCell(3, 8), nn.Linear(8, 1)
opt = torch.optim.Adam([*cell.parameters(), *out.parameters()], lr=1e-2)
for seq in range(8):
    h, losses = torch.zeros(4, 8), []
    for t in range(7):
        x = torch.randn(4, 3)
        h = cell(x, h)
        losses.append(nn.functional.mse_loss(out(h), x.sum(1, keepdim=True)))
    loss = sum(losses) / len(losses)
    opt.zero_grad()
    loss.backward()
    opt.step()
    history = [v.item() for v in losses]
