import torch
from torch import nn

body, head = nn.Linear(4, 8), nn.Linear(8, 2)
opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
for _ in range(4):
    with torch.inference_mode():  # here
        h = body(torch.randn(8, 4)).relu()
    loss = nn.functional.cross_entropy(head(h), torch.randint(0, 2, (8,)))  # or here
    opt.zero_grad()
    loss.backward()
    opt.step()
