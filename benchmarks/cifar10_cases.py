"""The training step of the CIFAR-10 network of the PyTorch tutorial, on random images."""

from __future__ import annotations

from collections.abc import Callable


def network(torch):
    """The tutorial's network, made from `torch`'s modules."""
    nn, F = torch.nn, torch.nn.functional

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

    return Net()


def cases(torch) -> dict[str, Callable[[], object]]:
    """'batch N' -> one eager training step."""

    def step_of(n: int) -> Callable[[], object]:
        torch.manual_seed(0)
        net, criterion = network(torch), torch.nn.CrossEntropyLoss()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
        inputs, labels = torch.randn(n, 3, 32, 32), torch.randint(0, 10, (n,))

        def step():
            optimizer.zero_grad()
            loss = criterion(net(inputs), labels)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    return {f"batch {n}": step_of(n) for n in (4, 64)}
