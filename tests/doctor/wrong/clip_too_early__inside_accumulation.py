import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.fc = nn.Linear(8 * 16, 3)

    def forward(self, x):
        return self.fc(F.silu(self.norm(self.conv(x))).flatten(1))


def train(model, loader, optimizer, accum, max_norm):
    model.train()
    for epoch in range(2):
        optimizer.zero_grad()
        for step, (img, lab) in enumerate(loader, 1):
            loss = F.cross_entropy(model(img), lab)
            (loss / accum).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  # here
            if step % accum == 0 or step == len(loader):  # or here
                optimizer.step()
                optimizer.zero_grad()
        print(f"epoch {epoch} loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    img = torch.randn(192, 3, 8, 8)
    lab = img.mean((2, 3)).argmax(1)
    loader = DataLoader(TensorDataset(img, lab), batch_size=8, shuffle=True)
    model = SmallCNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train(model, loader, optimizer, accum=4, max_norm=0.1)


main()
