import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(12, 8), nn.Flatten(), nn.Linear(24, 12))
crit = nn.CrossEntropyLoss()
lr = 0.1
for epoch in range(3):
    model.train()
    for _ in range(5):
        x, y = torch.randint(0, 12, (6, 3)), torch.randint(0, 12, (6,))
        model.zero_grad()
        loss = crit(model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
    model.eval()
    with torch.no_grad():
        crit(model(torch.randint(0, 12, (6, 3))), torch.randint(0, 12, (6,)))
    lr /= 2
