import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 1)
opt_head = torch.optim.SGD(head.parameters(), lr=0.05)
opt_body = torch.optim.SGD(body.parameters(), lr=0.01)
for step in range(20):
    x = torch.randn(8, 4)
    opt_head.zero_grad()
    opt_body.zero_grad()
    nn.functional.mse_loss(head(torch.relu(body(x))), x[:, :1]).backward()
    opt_head.step()
    if step > 8:
        opt_body.step()
