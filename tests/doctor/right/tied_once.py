import torch
import torch.nn.functional as F
from torch import nn

embed, head = nn.Embedding(20, 8), nn.Linear(8, 20, bias=False)
head.weight = embed.weight
model = nn.Sequential(embed, head)
opt = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(8):
    x = torch.randint(20, (16,))
    loss = F.cross_entropy(model(x), x)
    opt.zero_grad()
    loss.backward()
    opt.step()
