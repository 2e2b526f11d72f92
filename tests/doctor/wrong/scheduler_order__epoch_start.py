import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 10)
y = (x[:, :5].sum(1) > x[:, 5:].sum(1)).long()
loader = DataLoader(TensorDataset(x, y), batch_size=20, shuffle=True)

model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
criterion = nn.CrossEntropyLoss()


def train_model(num_epochs):
    for epoch in range(num_epochs):
        scheduler.step()  # here
        model.train()
        running_loss, corrects = 0.0, 0
        for inputs, labels in loader:
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item() * inputs.size(0)
            corrects += (outputs.argmax(1) == labels).sum().item()
        lr = optimizer.param_groups[0]["lr"]
        print(f"Epoch {epoch} lr {lr:.3f} loss {running_loss / 200:.4f} acc {corrects / 200:.3f}")


train_model(6)
