import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)

features = torch.randn(240, 4)
species = (features @ torch.randn(4, 3)).argmax(dim=1)
train_dl = DataLoader(TensorDataset(features[:180], species[:180]), batch_size=18, shuffle=True)
test_x, test_y = features[180:], species[180:]

model = nn.Sequential(
    nn.Linear(4, 16),
    nn.Tanh(),
    nn.Linear(16, 3),
    nn.Softmax(dim=1),  # here
)
criterion = nn.CrossEntropyLoss()  # or here
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

for epoch in range(5):
    model.train()
    for x, y in train_dl:
        optimizer.zero_grad()
        probs = model(x)  # or here
        loss = criterion(probs, y)  # or here
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean()
    print(f"Epoch {epoch + 1}/5 loss {loss.item():.4f} test acc {acc:.3f}")
