import torch
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(8, 8), nn.Linear(8, 2)
opt = torch.optim.AdamW(
    [{"params": body.parameters(), "lr": 1e-4}, {"params": head.parameters(), "lr": 1e-3}], weight_decay=0.01
)
loss_fn = nn.CrossEntropyLoss()
for step in range(10):
    x, y = torch.randn(12, 8), torch.randint(0, 2, (12,))
    head.zero_grad()
    loss = loss_fn(head(torch.relu(body(x))), y)
    loss.backward()  # here
    opt.step()  # or here
