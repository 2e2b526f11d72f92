import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    def __init__(self, n, train):
        self.images = torch.zeros(n, 1, 8, 8)
        self.labels = torch.randint(0, 2, (n,))
        for k, label in enumerate(self.labels):
            if label == 0:
                self.images[k, 0, 2:6, 3] = 1.0
            else:
                self.images[k, 0, 3, 2:6] = 1.0
        self.train = train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]  # or here
        if self.train:
            image += 0.2 * torch.randn_like(image)  # here
        return image, self.labels[i]


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


torch.manual_seed(0)
train_dl = DataLoader(Shapes(160, True), batch_size=16, shuffle=True)
test_dl = DataLoader(Shapes(40, False), batch_size=20)
model = nn.Sequential(
    nn.Conv2d(1, 6, 3), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(54, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    model.train()
    for x, y in train_dl:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} test acc {accuracy(model, test_dl):.3f}")
