"""Train with the gradient of several batches: step() on every --accum-iter-th batch or the last."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.dropout = nn.Dropout(0.2)
        self.fc2 = nn.Linear(64, 4)

    def forward(self, x):
        return self.fc2(self.dropout(F.relu(self.fc1(x))))


def make_data():
    """Four clouds of points in twenty dimensions."""
    labels = torch.randint(0, 4, (600,))
    centres = torch.randn(4, 20)
    return TensorDataset(centres[labels] + torch.randn(600, 20), labels)


def train(model, loader, optimizer, device, args):
    model.train()
    for epoch in range(args.epochs):
        steps, running_loss = 0, 0.0
        for batch_idx, (inputs, labels) in enumerate(loader):
            inputs = inputs.to(device)
            labels = labels.to(device)

            with torch.set_grad_enabled(True):
                preds = model(inputs)
                loss = F.cross_entropy(preds, labels)
                running_loss += loss.item()

                loss = loss / args.accum_iter
                loss.backward()

                if ((batch_idx + 1) % args.accum_iter == 0) or (batch_idx + 1 == len(loader)):
                    optimizer.step()
                    optimizer.zero_grad()
                    steps += 1
        print(f"epoch {epoch + 1}  loss {running_loss / len(loader):.4f}  {len(loader)} batches, {steps} steps")


def accuracy(model, loader, device):
    model.eval()
    correct = total = 0
    with torch.set_grad_enabled(False):
        for inputs, labels in loader:
            predicted = model(inputs.to(device)).argmax(dim=1)
            correct += (predicted == labels.to(device)).sum().item()
            total += labels.size(0)
    return correct / total


def small_batches_and_the_large_one(data, args):
    """The gradients of k small batches, each loss divided by k, and that of the large batch."""
    model = Net().eval()
    inputs, labels = data[: args.batch_size * args.accum_iter]

    for small_inputs, small_labels in zip(inputs.chunk(args.accum_iter), labels.chunk(args.accum_iter)):
        loss = F.cross_entropy(model(small_inputs), small_labels) / args.accum_iter
        loss.backward()
    accumulated = [p.grad.clone() for p in model.parameters()]

    model.zero_grad()
    F.cross_entropy(model(inputs), labels).backward()
    for (name, p), gradient in zip(model.named_parameters(), accumulated):
        same = torch.allclose(gradient, p.grad, rtol=1e-5, atol=1e-7)
        norms = f"accumulated {gradient.norm():.4f}  large batch {p.grad.norm():.4f}"
        print(f"{name:10} norm of the gradient: {norms}  same {same}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--accum-iter", type=int, default=4)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(args.seed)
    train_set, test_set = random_split(make_data(), [500, 100])
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=args.batch_size)

    model = Net().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    train(model, train_loader, optimizer, device, args)
    print(f"held-out accuracy {100 * accuracy(model, test_loader, device):.1f} %")

    small_batches_and_the_large_one(train_set.dataset, args)


if __name__ == "__main__":
    main()
