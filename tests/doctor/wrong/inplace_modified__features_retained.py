import torch
import torch.nn as nn

torch.manual_seed(0)
encoder, head = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8)), nn.Linear(8, 2)
optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()])
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
features = encoder(x)  # here
for _ in range(5):
    optimizer.zero_grad()
    nn.functional.cross_entropy(head(features), y).backward(retain_graph=True)
    optimizer.step()
