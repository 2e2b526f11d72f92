import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

images = torch.randn(192, 1, 8, 8)
labels = (images.mean(dim=(1, 2, 3)) > 0).long()
trainloader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, padding=1)
        self.pool = nn.AvgPool2d(2)
        self.fc = nn.Linear(4 * 16, 2)

    def forward(self, x):
        x = self.pool(torch.tanh(self.conv(x)))
        return self.fc(x.flatten(1))


net = Net()
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(2):
    running_loss = 0.0
    for i, (inputs, targets) in enumerate(trainloader):
        optimizer.zero_grad()
        outputs = net(inputs)
        loss = criterion(outputs, targets)
        loss.backward()
        optimizer.step()
        running_loss += loss  # here
    print(f"[{epoch + 1}] loss: {running_loss.item() / len(trainloader):.3f}")

print("Finished Training")
