import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 30))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
lengths = [2, 3, 9, 10, 4, 8, 10, 2]
for step in range(4):
    opt.zero_grad()
    for micro in range(4):
        n = lengths[(step * 4 + micro) % 8]
        ids = torch.randint(0, 30, (3, 12))
        labels = ids.roll(-1, 1).clone()
        labels[:, n:] = -100
        loss = nn.functional.cross_entropy(model(ids).view(-1, 30), labels.view(-1), ignore_index=-100) / 4  # or here
        loss.backward()  # here
    opt.step()
