import torch
from torch import nn

torch.manual_seed(0)
layers = nn.ModuleList([nn.Linear(6, 6) for _ in range(3)])
head = nn.Linear(6, 2)
for p in layers.parameters():
    p.requires_grad_(False)
opt = torch.optim.Adam(head.parameters(), lr=1e-2)
for stage in range(4):
    if stage:
        layers[-stage].requires_grad_(True)
        opt.add_param_group({"params": layers[-stage].parameters(), "lr": 1e-3})
    for _ in range(5):
        x = torch.randn(8, 6)
        for layer in layers:
            x = torch.relu(layer(x))
        opt.zero_grad()
        nn.functional.cross_entropy(head(x), torch.randint(0, 2, (8,))).backward()
        opt.step()
