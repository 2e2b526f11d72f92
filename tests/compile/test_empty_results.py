"""Compiled functions that return tensors without elements: each call makes its own, as an eager call does."""

from contextlib import nullcontext

import pytest

import rushlight as torch
from rushlight import nn


def described(*tensors):
    return [(t.shape, t.stride(), t.dtype, t.requires_grad, t.is_leaf, t._base is not None) for t in tensors]


def rows_and_columns(x):
    empty = x[:0] * 2
    return x[:0], x.new_empty(0, 3), x[:0].t(), (x[:, :0] + 1).requires_grad_(), empty, empty, empty[:0].t()


def test_each_call_makes_them_as_an_eager_call_does():
    compiled = torch.compile(rows_and_columns, fullgraph=True)
    x = torch.randn(3, 4)
    seen = []
    for _ in range(5):
        made = compiled(x)
        assert described(*made) == described(*rows_and_columns(x))
        assert made[0]._base is x
        assert made[4] is made[5]
        assert not any(t is u for earlier in seen for t in earlier for u in made)
        seen.append(made)
        made[1].resize_(2, 2).fill_(1)


def test_one_from_outside_stays_itself():
    outside = torch.empty(0, 4)
    compiled = torch.compile(lambda x: (x + 1, outside, outside.t()), fullgraph=True)
    for _ in range(5):
        _, same, turned = compiled(torch.ones(2))
        assert same is outside
        assert turned._base is outside


@pytest.mark.parametrize("kind", ["linear", "gru", "relu of an argument"])
def test_a_history_is_of_the_call(kind):
    """A replay that returned the captured call's result would walk that call's history a second time."""
    torch.manual_seed(0)
    module = {"linear": lambda: nn.Linear(4, 6), "gru": lambda: nn.GRU(4, 6)}.get(kind, nn.ReLU)()
    shape = (5, 0, 4) if kind == "gru" else (0, 4)

    def forward(x):
        y = module(x)
        return (y[0] if kind == "gru" else y), x.sum(0)

    compiled = torch.compile(forward)
    for i in range(5):
        x = torch.randn(shape, requires_grad=True)
        with pytest.warns(UserWarning, match="without elements") if i == 1 else nullcontext():
            y, total = compiled(x)
        (y.pow(2).sum() + total.sin().sum()).backward()
        assert x.grad is not None
        assert x.grad.shape == shape
        for p in module.parameters():
            assert not p.grad.any()


def test_a_used_history():
    weight = torch.randn(4, 3, requires_grad=True)

    def step(x):
        y = x @ weight
        y.sum().backward()
        return y

    compiled = torch.compile(step, fullgraph=True)
    for _ in range(5):
        weight.grad = None
        y = compiled(torch.randn(0, 4))
        assert not weight.grad.any()
        assert y.grad_fn is not None
        with pytest.raises(RuntimeError, match="second time"):
            y.sum().backward()


def test_data_without_elements():
    target = torch.ones(3)

    def move(x):
        target.data = x[:0]
        return x + 1

    compiled = torch.compile(move)
    for _ in range(4):
        target.data = torch.ones(3)
        compiled(torch.ones(2))
        assert target.shape == (0,)
