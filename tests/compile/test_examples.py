"""Whole networks: 20 compiled steps equal 20 eager ones, and 5 eager steps go on from them with the same numbers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rushlight.vision.transforms
from equality import differences, snapshot

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import nn

STEPS, AFTER = 20, 5
EXAMPLES = Path(__file__).parents[2] / "examples"


class Training:
    """A step, what it trains, and the data of each call."""

    def __init__(self, step: Any, data: Any, modules: list, optimizers: list = ()):  # type: ignore[assignment]
        self.step, self.data, self.modules, self.optimizers = step, data, modules, list(optimizers)

    def state(self) -> list:
        """Parameters, gradients, buffers, optimizer state, the random stream."""
        parameters = [p for m in self.modules for p in (m.parameters() if isinstance(m, nn.Module) else [m])]
        buffers = [b for m in self.modules if isinstance(m, nn.Module) for b in m.buffers()]
        held = [list(o.state.get(p, {}).values()) for o in self.optimizers for p in parameters]
        stream = torch.get_rng_state().numpy().tobytes()
        return snapshot([parameters, [p.grad for p in parameters], buffers, held, stream])


def normal(*shape: int):
    """Data of the shapes given, other in each call."""
    return lambda k: torch.from_numpy(np.random.default_rng([k, *shape]).normal(size=shape).astype(np.float32))


def classes(n: int, *shape: int):
    return lambda k: torch.from_numpy(np.random.default_rng([k, n]).integers(0, n, shape))


def supervised(model: Any, optimizer: Any, loss: Any, *data: Any) -> Training:
    """The usual loop's body."""

    def step(x, y):
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        return value.item()

    return Training(step, data, [model], [optimizer])


CASES: dict[str, Any] = {}


def case(f: Any) -> Any:
    CASES[f.__name__] = f
    return f


# ------------------------------------------------------------------------------------------------ networks


@case
def mlp():
    model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 5))
    return supervised(model, torch.optim.Adam(model.parameters()), nn.CrossEntropyLoss(), normal(8, 20), classes(5, 8))


@case
def cifar10():
    model = example("cifar10").Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return supervised(model, optimizer, nn.CrossEntropyLoss(), normal(4, 3, 32, 32), classes(10, 4))


@case
def digits():
    model = example("digits").Net()
    return supervised(model, torch.optim.Adam(model.parameters()), F.cross_entropy, normal(4, 1, 8, 8), classes(10, 4))


class Block(nn.Module):
    """A residual block with batch norm."""

    def __init__(self, c: int):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)
        self.conv2, self.norm2 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + x)


@case
def resnet():
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), Block(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return supervised(model, optimizer, nn.CrossEntropyLoss(), normal(4, 3, 8, 8), classes(4, 4))


class GPT(nn.Module):
    """A transformer of one block."""

    def __init__(self, vocabulary: int = 20, width: int = 16, length: int = 8):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, i):
        n, t = i.shape
        x = self.tokens(i) + self.positions(torch.arange(t))
        q, k, v = (p.view(n, t, 2, -1).transpose(1, 2) for p in self.qkv(self.norm1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(n, t, -1))
        return self.head(self.norm3(x + self.mlp(self.norm2(x))))


@case
def gpt():
    model = GPT()
    loss = lambda logits, y: F.cross_entropy(logits.view(-1, 20), y.view(-1))  # noqa: E731
    # The gradient of the bias of the keys is nothing but rounding, which the usual eps would make whole steps of.
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-4)
    return supervised(model, optimizer, loss, classes(20, 4, 8), classes(20, 4, 8))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm, self.out = nn.Embedding(12, 8), nn.LSTM(8, 10, 2, batch_first=True), nn.Linear(10, 12)

    def forward(self, i):
        return self.out(self.lstm(self.embed(i))[0]).transpose(1, 2)


@case
def lstm():
    model = Tagger()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return supervised(model, optimizer, nn.CrossEntropyLoss(), classes(12, 3, 5), classes(12, 3, 5))


@case
def gan():
    """Two networks, two optimizers, noise drawn in the step."""
    g = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6), nn.Tanh())
    d = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
    og, od = torch.optim.Adam(g.parameters(), 1e-3, (0.5, 0.999)), torch.optim.Adam(d.parameters(), 1e-3, (0.5, 0.999))
    loss = nn.BCEWithLogitsLoss()

    def step(real):
        ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
        fake = g(torch.randn(8, 4))
        od.zero_grad()
        dloss = loss(d(real), ones) + loss(d(fake.detach()), zeros)
        dloss.backward()
        od.step()
        og.zero_grad()
        gloss = loss(d(fake), ones)
        gloss.backward()
        og.step()
        return dloss.detach(), gloss.detach()

    return Training(step, (normal(8, 6),), [g, d], [og, od])


@case
def autoencoder():
    encoder = nn.Sequential(nn.Conv2d(1, 4, 3, stride=2, padding=1), nn.ReLU())
    model = nn.Sequential(encoder, nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1), nn.Sigmoid())
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)

    def step(x):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x.sigmoid())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(step, (normal(4, 1, 8, 8),), [model], [optimizer])


@case
def bag_of_words():
    """Embeddings averaged; clipped gradients; a schedule of the learning rate that steps with the batches."""
    table, out = nn.Embedding(30, 8, padding_idx=0), nn.Linear(8, 3)
    parameters = [*table.parameters(), *out.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 4, 0.7)

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(out(table(x).mean(1)), y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(parameters, 0.1)
        optimizer.step()
        schedule.step()
        return loss.item(), norm

    return Training(step, (classes(30, 6, 7), classes(3, 6)), [table, out], [optimizer])


@case
def micro_batches():
    """Gradients of four parts add up before the step; dropout."""
    model = example("gradient_accumulation").Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step(x, y):
        total = 0.0
        for part, label in zip(x.chunk(4), y.chunk(4), strict=True):
            loss = F.cross_entropy(model(part), label) / 4
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.zero_grad()
        return total

    return Training(step, (normal(16, 20), classes(4, 16)), [model], [optimizer])


# ------------------------------------------------------------------------------------------------ other examples


@case
def curve():
    """detach_and_numpy.py: a curve fitted by a small network."""
    model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return supervised(model, optimizer, F.mse_loss, normal(64, 1), normal(64, 1))


@case
def gradients_accumulate():
    """how_gradients_accumulate.py: gradients are never zeroed."""
    w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)

    def step(x):
        y = (w * x).exp()
        y.sum().backward(retain_graph=True)
        (y * 0.01).backward(torch.tensor([1.0, 0.1, 0.01]))
        return y.detach()

    return Training(step, (lambda k: normal(3)(k) * 0.1,), [w])


@case
def manual_updates():
    """variable_and_manual_updates.py: through .data, and under no_grad."""
    w, b = torch.tensor([0.5], requires_grad=True), torch.zeros(1, requires_grad=True)

    def step(x, y):
        loss = ((y - (w * x + b)) ** 2).mean()
        loss.backward()
        w.data -= 0.3 * w.grad.data
        w.grad.data.zero_()
        with torch.no_grad():
            b.sub_(0.3 * b.grad)
            b.grad.zero_()
        return loss.detach()

    return Training(step, (normal(40), normal(40)), [w, b])


@pytest.fixture(autouse=True)
def _examples(monkeypatch):
    """`import torch` inside the examples is this package (the alias itself would rename classes for later tests)."""
    for ours, theirs in (("rushlight", "torch"), ("rushlight.vision", "torchvision")):
        for name in [n for n in sys.modules if n == ours or n.startswith(f"{ours}.")]:
            monkeypatch.setitem(sys.modules, name.replace(ours, theirs, 1), sys.modules[name])


def example(name: str) -> Any:
    """An example's module."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ZERO_GRAD = ["zero_at_the_start", "zero_before_backward", "zero_after_step"]


def zero_grad(place: str, kind: str) -> Any:
    """zero_grad.py: each place of zero_grad() with each optimizer."""

    def make():
        torch_example = example("zero_grad")
        model = nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 4))
        optimizer = torch_example.OPTIMIZERS[kind](model.parameters())
        criterion, place_of = nn.CrossEntropyLoss(), getattr(torch_example, place)

        def step(x, y):
            return place_of(model, optimizer, criterion, x, y)

        return Training(step, (normal(4, 3, 2, 2), classes(4, 4)), [model], [optimizer])

    return make


CASES |= {f"{p} {k}": zero_grad(p, k) for p, k in zip(ZERO_GRAD, ["SGD", "SGD with momentum", "Adam"], strict=True)}


def trained(make: Any, compiled: bool) -> list[list]:
    """The results of all steps, and the state after the compiled ones and at the end."""
    torch.manual_seed(3)
    training = make()
    step = torch.compile(training.step) if compiled else training.step
    out = []
    for k in range(STEPS + AFTER):
        step = training.step if k == STEPS else step
        out.append(snapshot([step(*(d(k) for d in training.data))]))
        if k in (STEPS - 1, STEPS + AFTER - 1):
            out.append(training.state())
    return out


@pytest.mark.parametrize("name", CASES)
def test_network(name, monkeypatch):
    monkeypatch.setenv("RUSHLIGHT_CHECK", "1")
    eager, compiled = trained(CASES[name], False), trained(CASES[name], True)
    for k, (e, c) in enumerate(zip(eager, compiled, strict=True)):
        wrong = differences(e, c, floor=2000, magnitude=0.05)
        assert not wrong, f"after {k + 1} steps: {'; '.join(wrong[:4])}"
