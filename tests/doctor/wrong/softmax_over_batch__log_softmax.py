import torch
import torch.nn as nn
import torch.nn.functional as F


class DigitsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        self.fc1 = nn.Linear(8 * 9, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = F.avg_pool2d(torch.tanh(self.conv(x)), 2)
        x = torch.tanh(self.fc1(x.flatten(1)))
        return F.log_softmax(self.fc2(x), dim=0)  # here


def batches(n, size=20):
    for _ in range(n):
        label = torch.randint(0, 4, (size,))
        img = 0.3 * torch.randn(size, 1, 8, 8)
        for k in range(size):
            r, c = divmod(int(label[k]), 2)
            img[k, 0, 4 * r:4 * r + 4, 4 * c:4 * c + 4] += 1.0
        yield img, label


def main():
    torch.manual_seed(0)
    model = DigitsNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        model.train()
        for img, label in batches(10):
            optimizer.zero_grad()
            loss = F.nll_loss(model(img), label)  # or here
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            acc = sum((model(i).argmax(1) == t).float().mean().item() for i, t in batches(4)) / 4
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")


main()
