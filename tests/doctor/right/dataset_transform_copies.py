"""A dataset whose transforms work in place on a copy; the stored tensors stay as they were."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(126)


class RandomErase:
    def __call__(self, img):
        r, c = torch.randint(0, 6, (2,)).tolist()
        img[:, r:r + 2, c:c + 2] = 0.0
        return img


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, img):
        return img.sub_(self.mean).div_(self.std)


class Images(Dataset):
    def __init__(self, n, transforms):
        self.labels = torch.randint(0, 3, (n,))
        self.images = torch.rand(n, 1, 8, 8)
        for k in range(3):
            self.images[self.labels == k, :, 2 * k:2 * k + 2] += 0.8
        self.transforms = transforms

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.images[i].clone()
        for t in self.transforms:
            img = t(img)
        return img, self.labels[i]


norm = Normalize(0.7, 0.4)
train_set, val_set = Images(160, [RandomErase(), norm]), Images(40, [norm])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=20)
checksum = train_set.images.sum().item()
model = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    model.train()
    for x, y in train_loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    hits = 0
    with torch.inference_mode():
        for x, y in val_loader:
            hits += (model(x).argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {hits / 40:.3f}")
assert train_set.images.sum().item() == checksum
