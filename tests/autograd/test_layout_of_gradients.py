"""A leaf's first gradient lies in memory as the leaf does where that has no gaps, else row by row, as in torch."""

import pytest

import rushlight as torch


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: torch.randn(2, 3, 4, 5).permute(0, 3, 1, 2), (60, 1, 20, 5)),
        (lambda: torch.randn(2, 3, 4).permute(2, 0, 1), (1, 12, 4)),
        (lambda: torch.randn(3, 4).t(), (1, 4)),
        (lambda: torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last), (48, 1, 12, 3)),
        (lambda: torch.randn(4, 6)[:, ::2], (3, 1)),
        (lambda: torch.randn(4, 6, 2).transpose(0, 1)[:, ::2], (4, 2, 1)),
    ],
)
@pytest.mark.parametrize(
    "loss", [lambda x: x.sum(), lambda x: (x.relu() * 2).sum(), lambda x: x.reshape(-1).pow(2).sum()]
)
def test_first_gradient(make, strides, loss):
    x = make().requires_grad_()
    for _ in range(4):
        x.grad = None
        loss(x).backward()
        assert x.grad.stride() == strides
    first = x.grad.clone()
    loss(x).backward()
    assert x.grad.stride() == strides and torch.allclose(x.grad, 2 * first)


def test_while_calls_are_recorded():
    x = torch.randn(2, 3, 4).permute(2, 0, 1).requires_grad_()
    step = torch.compile(lambda: x.relu().sum().backward())
    for _ in range(3):
        x.grad = None
        step()
        assert x.grad.stride() == (1, 12, 4) and torch.equal(x.grad, (x > 0).float())
