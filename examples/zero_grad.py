"""Where zero_grad() may be called, and what step() makes of gradients that are stale, doubled, zero or None."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

OPTIMIZERS = {
    "SGD": lambda parameters: optim.SGD(parameters, lr=0.01),
    "SGD with momentum": lambda parameters: optim.SGD(parameters, lr=0.01, momentum=0.9),
    "Adam": lambda parameters: optim.Adam(parameters, lr=0.001),
}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 6, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def make_data(images):
    """Noise in which the class decides how bright each third of the picture is."""
    labels = torch.randint(0, 10, (images,))
    brightness = torch.randn(10, 3, 1, 1)
    return TensorDataset(0.5 * torch.randn(images, 3, 32, 32) + brightness[labels], labels)


def zero_at_the_start(model, optimizer, criterion, inputs, labels):
    optimizer.zero_grad()
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss.item()


def zero_before_backward(model, optimizer, criterion, inputs, labels):
    loss = criterion(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def zero_after_step(model, optimizer, criterion, inputs, labels):
    loss = criterion(model(inputs), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def three_places(data, args):
    print("zero_grad() in each of its three places: the same losses")
    for kind, make_optimizer in OPTIMIZERS.items():
        for step in (zero_at_the_start, zero_before_backward, zero_after_step):
            torch.manual_seed(args.seed)
            model = Net()
            optimizer = make_optimizer(model.parameters())
            criterion = nn.CrossEntropyLoss()
            losses = []
            for inputs, labels in DataLoader(data, batch_size=4, shuffle=True):
                losses.append(step(model, optimizer, criterion, inputs, labels))
            print(f"  {kind:18} {step.__name__:21} first {losses[0]:.4f}  mean of all {len(losses)} steps "
                  f"{sum(losses) / len(losses):.4f}")  # fmt: skip


def forgotten(data, args):
    print("zero_grad() forgotten: every step follows the sum of all gradients so far")
    torch.manual_seed(args.seed)
    model = Net()
    optimizer = optim.SGD(model.parameters(), lr=0.001)
    for i, (inputs, labels) in enumerate(DataLoader(data, batch_size=4, shuffle=True)):
        if i == 5:
            break
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        print(f"  step {i + 1}  loss {loss.item():.4f}  norm of fc3.weight.grad {model.fc3.weight.grad.norm():.4f}")


def moved_by(optimizer, w):
    """How far each element of w moves in one step."""
    before = w.detach().clone()
    optimizer.step()
    return (w.detach() - before).tolist()


def text(values):
    return "[" + ", ".join(f"{v:+.5f}" for v in values) + "]"


def what_step_does():
    for kind, make_optimizer in OPTIMIZERS.items():
        print(f"{kind}: how far one step moves w")
        w = torch.tensor([1.0, -2.0], requires_grad=True)
        optimizer = make_optimizer([w])
        print("  gradient None before the first backward    ", text(moved_by(optimizer, w)))

        (w**2).sum().backward()
        print("  fresh gradient                             ", text(moved_by(optimizer, w)))
        print("  stale gradient, no backward in between     ", text(moved_by(optimizer, w)))

        optimizer.zero_grad()
        (w**2).sum().backward()
        (w**2).sum().backward()
        print("  doubled gradient, two backwards            ", text(moved_by(optimizer, w)))

        optimizer.zero_grad(set_to_none=False)
        print(f"  zero gradient, set_to_none=False           {text(moved_by(optimizer, w))} grad {w.grad}")

        optimizer.zero_grad(set_to_none=True)
        print(f"  gradient None, set_to_none=True            {text(moved_by(optimizer, w))} grad {w.grad}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100, help="batches of four in each run")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    data = make_data(4 * args.steps)
    three_places(data, args)
    forgotten(data, args)
    what_step_does()


if __name__ == "__main__":
    main()
