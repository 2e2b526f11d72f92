import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
accumulation_steps = 4

x = torch.randn(220, 8)
y = (x[:, 0] > x[:, 1]).float()
train_loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)  # 22 batches

model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()

optimizer.zero_grad()
for epoch in range(5):
    model.train()
    total = 0.0
    for i, (inputs, target) in enumerate(train_loader):  # or here
        loss = criterion(model(inputs).squeeze(1), target)
        total += loss.item()
        loss = loss / accumulation_steps
        loss.backward()  # or here
        if (i + 1) % accumulation_steps == 0:  # here
            optimizer.step()  # or here
            optimizer.zero_grad()  # or here
    print(f"epoch {epoch}: loss {total / len(train_loader):.4f}")
