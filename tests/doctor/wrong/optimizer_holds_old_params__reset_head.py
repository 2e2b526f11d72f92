import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)


class PretrainedNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(12, 32), nn.GELU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.features(x))


model = PretrainedNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)  # or here

num_classes = 3
model.fc = nn.Linear(model.fc.in_features, num_classes)  # here

x = torch.randn(192, 12)
y = x[:, :num_classes].argmax(dim=1)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
criterion = nn.CrossEntropyLoss()

for epoch in range(3):
    model.train()
    running, correct = 0.0, 0
    for inputs, labels in loader:
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.step()
        running += loss.item() * inputs.size(0)
        correct += (outputs.argmax(1) == labels).sum().item()
    print(f"Epoch {epoch} Loss {running / 192:.4f} Acc {correct / 192:.4f}")
