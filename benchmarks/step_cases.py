"""Whole training steps, each written once against a `torch` module, for `python -m benchmarks steps`.

A builder seeds the generator, makes the networks, then the data, so that every library starts from the same numbers.
`wrap` is applied to each network: `torch.compile`, or nothing. Every step ends with a loss that nothing reads in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from .cifar10_cases import network
from .step_networks import discriminator, generator, gpt_network, lstm_network, resnet18_network

BATCHES = 8  # enough that a fast step does not learn them by heart while it is being timed


@dataclass
class Case:
    """`step(x, y)` -> loss, with batches to give it; the networks and optimizers are those that it trains."""

    step: Callable[[Any, Any], Any]
    batches: list[tuple[Any, Any]]
    networks: list[Any]
    optimizers: list[Any]


def _unwrapped(network):
    return network


def cifar10(torch, wrap=_unwrapped, batch: int = 4) -> Case:
    """The PyTorch tutorial's network, SGD with momentum: images (batch, 3, 32, 32), 10 classes."""
    torch.manual_seed(0)
    net = network(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)
    batches = [(torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))) for _ in range(BATCHES)]
    return Case(_classify(torch, wrap(net), optimizer), batches, [net], [optimizer])


def mlp(torch, wrap=_unwrapped, batch: int = 64) -> Case:
    """784-128-10 with ReLU and Adam: flat images (batch, 784), 10 classes."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    batches = [(torch.randn(batch, 784), torch.randint(0, 10, (batch,))) for _ in range(BATCHES)]
    return Case(_classify(torch, wrap(net), optimizer), batches, [net], [optimizer])


def resnet18(torch, wrap=_unwrapped, batch: int = 32) -> Case:
    """ResNet-18 in its CIFAR form, SGD with momentum and weight decay: images (batch, 3, 32, 32), 10 classes."""
    torch.manual_seed(0)
    net = resnet18_network(torch)
    # lr: at 0.1 rounding alone parts two libraries within ten steps, and the losses could not be compared
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    batches = [(torch.randn(batch, 3, 32, 32), torch.randint(0, 10, (batch,))) for _ in range(BATCHES)]
    return Case(_classify(torch, wrap(net), optimizer), batches, [net], [optimizer])


def gpt(torch, wrap=_unwrapped, batch: int = 8, context: int = 128, vocabulary: int = 8192) -> Case:
    """A GPT of 4 layers, width 256 and 8 heads, AdamW: tokens (batch, context), the next tokens of the same shape."""
    torch.manual_seed(0)
    net = gpt_network(torch, vocabulary, context, layers=4, width=256, heads=8)
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-4, weight_decay=0.1)
    tokens = [torch.randint(0, vocabulary, (batch, context + 1)) for _ in range(BATCHES)]
    batches = [(t[:, :-1].contiguous(), t[:, 1:].contiguous()) for t in tokens]
    return Case(_classify(torch, wrap(net), optimizer), batches, [net], [optimizer])


def _classify(torch, net, optimizer):
    criterion = torch.nn.CrossEntropyLoss()

    def step(x, y):
        optimizer.zero_grad()
        logits = net(x)
        loss = criterion(logits.view(-1, logits.size(-1)), y.view(-1))
        loss.backward()
        optimizer.step()
        return loss

    return step


def lstm(torch, wrap=_unwrapped, batch: int = 20, length: int = 35, vocabulary: int = 10000) -> Case:
    """A 2 x 256 LSTM language model, clipped SGD: tokens (length, batch), the next tokens of the same shape."""
    torch.manual_seed(0)
    plain = lstm_network(torch, vocabulary, width=256, layers=2, dropout=0.2)
    net, criterion = wrap(plain), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(plain.parameters(), lr=1.0)
    # carried in place: a compiled step repeats writes to tensors, not the binding of Python names
    hidden, cell = torch.zeros(2, batch, 256), torch.zeros(2, batch, 256)

    def step(x, y):
        optimizer.zero_grad()
        logits, (h, c) = net(x, (hidden, cell))
        loss = criterion(logits.view(-1, vocabulary), y.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 0.25)
        optimizer.step()
        hidden.copy_(h.detach())
        cell.copy_(c.detach())
        return loss

    tokens = [torch.randint(0, vocabulary, (length + 1, batch)) for _ in range(BATCHES)]
    return Case(step, [(t[:-1], t[1:].contiguous()) for t in tokens], [plain], [optimizer])


def dcgan(torch, wrap=_unwrapped, batch: int = 16) -> Case:
    """Both networks of the DCGAN tutorial: images (batch, 3, 64, 64), noise (batch, 100, 1, 1); the losses' sum."""
    torch.manual_seed(0)
    networks = [generator(torch), discriminator(torch)]
    make, judge = (wrap(network) for network in networks)
    adam = partial(torch.optim.Adam, lr=2e-4, betas=(0.5, 0.999))
    optimizer_g, optimizer_d = (adam(network.parameters()) for network in networks)
    criterion, real, fake = torch.nn.BCELoss(), torch.ones(batch), torch.zeros(batch)

    def step(images, noise):
        optimizer_d.zero_grad()
        loss_real = criterion(judge(images).view(-1), real)
        loss_real.backward()
        made = make(noise)
        loss_fake = criterion(judge(made.detach()).view(-1), fake)
        loss_fake.backward()
        optimizer_d.step()
        optimizer_g.zero_grad()
        loss_g = criterion(judge(made).view(-1), real)
        loss_g.backward()
        optimizer_g.step()
        return loss_real.detach() + loss_fake.detach() + loss_g.detach()

    batches = [(torch.rand(batch, 3, 64, 64) * 2 - 1, torch.randn(batch, 100, 1, 1)) for _ in range(BATCHES)]
    return Case(step, batches, networks, [optimizer_g, optimizer_d])


def one_layer(torch, wrap=_unwrapped) -> Case:
    """No case of its own: whoever has taken this step has loaded its libraries and started its compiler and threads."""
    torch.manual_seed(0)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(256, 256)

        def forward(self, x):
            return self.layer(x) * 2.0

    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
    batches = [(torch.randn(64, 256), torch.randint(0, 256, (64,))) for _ in range(BATCHES)]
    return Case(_classify(torch, wrap(net), optimizer), batches, [net], [optimizer])


CASES: dict[str, Callable[..., Case]] = {
    "cifar10-4": partial(cifar10, batch=4),
    "cifar10-64": partial(cifar10, batch=64),
    "mlp": mlp,
    "resnet18": resnet18,
    "gpt": gpt,
    "lstm": lstm,
    "dcgan": dcgan,
}
