import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 30))
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(5):
    opt.zero_grad()
    tokens = 0
    for micro in range(3):
        ids = torch.randint(0, 30, (2, 5 + 3 * micro))
        labels = ids.roll(-1, 1)
        loss = nn.functional.cross_entropy(model(ids).view(-1, 30), labels.view(-1), reduction="sum")
        loss.backward()
        tokens += labels.numel()
    for p in model.parameters():
        p.grad /= tokens
    opt.step()
