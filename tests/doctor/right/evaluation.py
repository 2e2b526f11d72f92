import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

train = DataLoader(TensorDataset(torch.randn(24, 4), torch.randint(3, (24,))), batch_size=8, shuffle=True)
test = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(3, (16,))), batch_size=8)
model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
for epoch in range(4):
    model.train()
    running = 0.0
    for x, y in train:
        opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
        running += loss.item() * len(x)
    scheduler.step()
    model.eval()
    correct = 0
    with torch.inference_mode():
        for x, y in test:
            correct += (model(x).argmax(1) == y).sum().item()
    print(running > 0, correct >= 0)
