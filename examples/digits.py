"""Train a small convolutional network to read handwritten digits.

The data are 1,797 scanned digits of 8x8 pixels (examples/data/digits.csv.gz, see digits.LICENCE.txt next to it); a fifth
of them is held out for the test. The loss curve is saved as digits_loss.png, the model as digits.pt.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split
from tqdm import tqdm

DATA = Path(__file__).parent / "data" / "digits.csv.gz"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.dropout(torch.flatten(x, 1))
        return self.fc2(F.relu(self.fc1(x)))


def load_digits():
    """Images (1797, 1, 8, 8) with values in [0, 1], and labels."""
    table = np.loadtxt(DATA, delimiter=",", dtype=np.float32)
    images = torch.from_numpy(table[:, :64]).view(-1, 1, 8, 8) / 16
    labels = torch.from_numpy(table[:, 64]).long()
    return TensorDataset(images, labels)


def train(model, loader, optimizer, epoch):
    """One pass over the training images; returns the loss of each batch."""
    model.train()
    losses = []
    progress = tqdm(
        loader, desc=f"epoch {epoch}", leave=False, disable=None
    )  # None: silent where standard error is no terminal
    for images, labels in progress:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        progress.set_postfix(loss=f"{losses[-1]:.3f}", refresh=False)
    return losses


def accuracy(model, loader):
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in loader:
            correct += (model(images).argmax(dim=1) == labels).sum().item()
    return correct / len(loader.dataset)


def plot(losses, path):
    try:
        import matplotlib
    except ImportError:
        print("matplotlib is not installed, so there is no picture of the loss curve")
        return
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.figure(figsize=(6, 4))
    plt.plot(losses, linewidth=0.8)
    plt.yscale("log")
    plt.xlabel("step")
    plt.ylabel("cross-entropy")
    plt.title("Handwritten digits: training loss")
    plt.tight_layout()
    plt.savefig(path, dpi=120)
    print(f"loss curve saved to {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for the picture and the model")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    torch.manual_seed(args.seed)
    digits = load_digits()
    held_out = len(digits) // 5
    train_set, test_set = random_split(digits, [len(digits) - held_out, held_out])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=256)

    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    losses = []
    for epoch in range(1, args.epochs + 1):
        epoch_losses = train(model, train_loader, optimizer, epoch)
        losses += epoch_losses
        print(f"epoch {epoch:2d}  loss {sum(epoch_losses) / len(epoch_losses):.4f}  ", end="")
        print(f"held-out accuracy {100 * accuracy(model, test_loader):.2f} %")

    plot(losses, args.out / "digits_loss.png")
    torch.save(model.state_dict(), args.out / "digits.pt")
    print(f"model saved to {args.out / 'digits.pt'}")


if __name__ == "__main__":
    main()
