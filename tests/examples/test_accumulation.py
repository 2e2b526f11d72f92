"""Gradient accumulation: k small batches give the gradient of the large one; step() on every k-th batch or the last."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader, TensorDataset

N = 48


def data(dtype):
    torch.manual_seed(0)
    return torch.randn(N, 3, 8, 8, dtype=dtype), torch.randint(0, 5, (N,))


def network(dtype):
    torch.manual_seed(1)
    layers = (
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(36, 16),
        nn.LayerNorm(16),
        nn.Linear(16, 5),
    )
    return nn.Sequential(*layers).to(dtype)


def gradients(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.parametrize(("dtype", "rounding"), [(torch.float32, 2e-6), (torch.float64, 1e-14)])
@pytest.mark.parametrize("k", [1, 2, 3, 8, 48])
def test_small_batches_give_the_gradient_of_the_large_one(k, dtype, rounding):
    inputs, labels = data(dtype)
    model = network(dtype)
    F.cross_entropy(model(inputs), labels).backward()
    large = gradients(model)
    model.zero_grad()
    for x, y in zip(inputs.chunk(k), labels.chunk(k), strict=True):
        (F.cross_entropy(model(x), y) / k).backward()
    difference = (gradients(model) - large).abs().max().item()
    assert difference <= rounding * large.abs().max().item()
    if k == 1:
        assert difference == 0


@pytest.mark.parametrize(
    "make", [torch.optim.SGD, torch.optim.AdamW, torch.optim.RMSprop], ids=lambda make: make.__name__
)
def test_training_follows_the_large_batches(make):
    inputs, labels = data(torch.float64)
    ends = []
    for k in (1, 4):
        model = network(torch.float64)
        optimizer = make(model.parameters(), lr=1e-3)
        loader = DataLoader(TensorDataset(inputs, labels), batch_size=16 // k)
        for _ in range(3):
            for batch_idx, (x, y) in enumerate(loader):
                with torch.set_grad_enabled(True):
                    loss = F.cross_entropy(model(x), y) / k
                    loss.backward()
                if (batch_idx + 1) % k == 0 or batch_idx + 1 == len(loader):
                    optimizer.step()
                    optimizer.zero_grad()
        ends.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert (ends[0] - ends[1]).abs().max().item() < 1e-8


@pytest.mark.parametrize(("batch", "k", "steps"), [(16, 3, 1), (16, 2, 2), (5, 4, 3), (48, 4, 1), (7, 7, 1), (7, 6, 2)])
def test_the_last_batch_steps_too(batch, k, steps):
    inputs, labels = data(torch.float32)
    model = network(torch.float32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    taken = []
    optimizer.register_step_post_hook(lambda *_: taken.append(gradients(model).norm().item()))
    loader = DataLoader(TensorDataset(inputs, labels), batch_size=batch)
    for batch_idx, (x, y) in enumerate(loader):
        (F.cross_entropy(model(x), y) / k).backward()
        if (batch_idx + 1) % k == 0 or batch_idx + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    assert len(taken) == steps and all(norm > 0 for norm in taken)
    assert all(p.grad is None for p in model.parameters())
