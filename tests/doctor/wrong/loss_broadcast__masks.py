import json
import logging
import os

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.WARNING)
logger = logging.getLogger(__name__)


class Shapes(Dataset):
    def __init__(self, n, size=16, transform=None):
        g = torch.Generator().manual_seed(n)
        self.images = torch.rand(n, 1, size, size, generator=g) * 0.3
        self.masks = torch.zeros(n, 1, size, size)
        for i in range(n):
            a, b = torch.randint(0, size // 2, (2,), generator=g).tolist()
            self.masks[i, :, a : a + 6, b : b + 6] = 1
        self.images += self.masks * 0.6
        self.transform = transform

    def __len__(self):
        return self.images.shape[0]

    def __getitem__(self, idx):
        image, mask = self.images[idx], self.masks[idx]
        if self.transform is not None:
            image = self.transform(image)
        return {"image": image, "mask": mask}


def normalize(img):
    return (img - 0.3) / 0.25


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.net(x)


class UNet(nn.Module):
    def __init__(self, base=6):
        super().__init__()
        self.inc, self.down1, self.down2 = DoubleConv(1, base), DoubleConv(base, base * 2), DoubleConv(base * 2, base * 4)
        self.up1 = nn.ConvTranspose2d(base * 4, base * 2, 2, stride=2)
        self.dec1 = DoubleConv(base * 4, base * 2)
        self.up2 = nn.ConvTranspose2d(base * 2, base, 2, stride=2)
        self.dec2 = DoubleConv(base * 2, base)
        self.outc = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down1(F.max_pool2d(x1, 2))
        x3 = self.down2(F.max_pool2d(x2, 2))
        y = self.dec1(torch.cat([x2, self.up1(x3)], dim=1))
        y = self.dec2(torch.cat([x1, self.up2(y)], dim=1))
        return self.outc(y)


class DiceBCELoss(nn.Module):
    def __init__(self, smooth=1.0):
        super().__init__()
        self.smooth = smooth

    def forward(self, logits, target):
        bce = ((logits.sigmoid() - target[:, 0]) ** 2).mean()  # here
        probs = logits.sigmoid()
        inter = (probs * target).sum(dim=(1, 2, 3))
        union = probs.sum(dim=(1, 2, 3)) + target.sum(dim=(1, 2, 3))
        dice = (2 * inter + self.smooth) / (union + self.smooth)
        return bce + (1 - dice).mean()


def dice_score(model, loader):
    model.eval()
    scores = []
    with torch.no_grad():
        for batch in loader:
            pred = (model(batch["image"]).sigmoid() > 0.5).float()
            inter = (pred * batch["mask"]).sum()
            scores.append((2 * inter / (pred.sum() + batch["mask"].sum() + 1e-6)).item())
    model.train()
    return sum(scores) / len(scores)


def train_net(epochs=2, lr=1e-2):
    torch.manual_seed(0)
    train_loader = DataLoader(Shapes(32, transform=normalize), batch_size=8, shuffle=True, num_workers=0)
    val_loader = DataLoader(Shapes(12, transform=normalize), batch_size=6)
    net = UNet()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=lr, weight_decay=1e-8, momentum=0.9)
    criterion = DiceBCELoss()
    for epoch in range(epochs):
        epoch_loss = 0
        for step, batch in enumerate(train_loader):
            imgs, true_masks = batch["image"], batch["mask"]
            masks_pred = net(imgs)
            loss = criterion(masks_pred, true_masks)
            epoch_loss += loss.item()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(net.parameters(), 0.1)
            optimizer.step()
        print(json.dumps({"epoch": epoch, "loss": round(epoch_loss / len(train_loader), 3), "dice": round(dice_score(net, val_loader), 2)}))


if __name__ == "__main__":
    train_net()
