"""Transforms over batches give torch's results (`recorded.json`, made by `cases.py`), and raise where torch does."""

import json
import math
from pathlib import Path

import pytest

import rushlight as torch
from rushlight.func import _vmap_internals, grad, jacfwd, vmap
from tests.func.cases import CASES, data, described

RECORDED = json.loads((Path(__file__).parent / "recorded.json").read_text())
X = data(torch, 3, 2)


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_results_are_torchs(case):
    got = described(torch, case(torch, torch.func))
    for mine, theirs in zip(got, RECORDED[case.__name__], strict=True):
        assert mine[:2] == theirs[:2]
        for a, b in zip(mine[2:], theirs[2:], strict=True):
            assert math.isclose(a, b, rel_tol=2e-4, abs_tol=2e-3), (mine, theirs)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda v: v.sum().item(), r"calling \.item\(\) on a Tensor"),
        (lambda v: v * float(v.sum()), r"calling \.item\(\) on a Tensor"),
        (lambda v: v if v.sum() > 0 else -v, "data-dependent control flow"),
        (lambda v: v.nonzero(), "dynamic shape"),
        (lambda v: v.tolist(), "Cannot access data pointer"),
        (lambda v: torch.zeros(2).add_(v), "inplace arithmetic"),
        (lambda v: v.detach().requires_grad_(), r"Tensor\.requires_grad_\(\)"),
        (lambda v: v.sum().backward(), r"backward\(\) called inside a functorch transform"),
        (lambda v: v + torch.rand(2), "randomness error mode"),
        (lambda v: torch.nn.functional.dropout(v), "randomness error mode"),
        (torch.nn.BatchNorm1d(2), "will be updated in place, were not batched"),
        (lambda v: v[None].permute(0), "permute"),
        (lambda v: v.sum(3), r"expected to be in range of \[-1, 0\]"),
    ],
)
def test_what_a_batch_cannot_do(call, message):
    x = torch.ones(3, 4, 2) if isinstance(call, torch.nn.Module) else X
    with pytest.raises((RuntimeError, IndexError), match=message):
        vmap(call)(x)


def test_the_function_runs_once():
    runs = []
    vmap(lambda v: runs.append(0) or (v * 2).sum())(X)
    vmap(grad(lambda v: runs.append(0) or (v * 2).sum()))(X)
    assert len(runs) == 2


def test_a_result_that_does_not_depend_on_the_example():
    assert vmap(lambda v: torch.ones(2))(X).shape == (3, 2)
    assert vmap(lambda v: torch.ones(2), out_dims=None)(X).shape == (2,)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        vmap(lambda v: v, out_dims=None)(X)


def test_what_a_batch_says_of_itself():
    seen = []
    vmap(lambda v: seen.append((v.shape, v.dim(), v.dtype, v.requires_grad, len(v), repr(v))) or v)(X)
    shape, ndim, dtype, wants, n, text = seen[0]
    assert (shape, ndim, dtype, wants, n) == ((2,), 1, torch.float32, False, 2)
    assert text.startswith("BatchedTensor(lvl=1, bdim=0, value=\n    tensor([[")


def test_code_that_looks_at_memory_runs_for_each_example():
    values = []
    vmap(lambda v: values.append(v.shape) or torch.nn.functional.alpha_dropout(v, 0.5, True), randomness="same")(X)
    assert len(values) == 4  # once as a batch, which came to an end at the draw


def test_the_rule_of_a_function_is_told_of_the_batch():
    told = []

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def vmap(info, in_dims, x):
            told.append((repr(info), in_dims))
            return x * 2, in_dims[0]

    assert vmap(Twice.apply)(X).equal(X * 2)
    assert told == [("VmapInfo(batch_size=3, randomness='error')", (0,))]


def test_older_names():
    total, nothing, doubled = _vmap_internals._vmap(lambda x: (x.sum(), None, x * 2), 0, 0, True)(X)
    assert nothing is None and torch.equal(total, X.sum(1)) and torch.equal(doubled, X * 2)
    with pytest.raises(ValueError, match="NoneType"):
        _vmap_internals._vmap(lambda x: (x, None))(X)
    with pytest.warns(FutureWarning, match=r"use `torch\.vmap` instead"):
        assert torch.equal(_vmap_internals.vmap(torch.sin, 1, 1)(X), X.sin())


@pytest.mark.parametrize("outer", ["within", "outside"])
def test_gradients_read_what_was_there_before_a_second_write(outer):
    """y *= x saves y, which the next write changes: in a batch as without."""

    def f(x):
        y = x.clone()
        y.mul_(x)
        y.div_(x + 1)
        y.add_(1)
        return (y * y).sum()

    rows = torch.tensor([[1.0, 2.0], [0.5, -3.0]], dtype=torch.float64)
    alone = torch.stack([torch.func.grad(f)(r) for r in rows])
    found = vmap(torch.func.grad(f))(rows) if outer == "within" else torch.func.grad(lambda x: vmap(f)(x).sum())(rows)
    assert torch.equal(found, alone)


@pytest.mark.parametrize("draw", [lambda x: x + torch.randperm(3), lambda x: torch.normal(x, 1.0), torch.randn_like])
def test_a_refused_draw_leaves_the_stream_where_it_was(draw):
    torch.manual_seed(0)
    expected = torch.randn(3).tolist()
    for transformed, x in ((vmap(draw), torch.ones(2, 3)), (jacfwd(draw), torch.ones(3))):
        torch.manual_seed(0)
        with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
            transformed(x)
        assert torch.randn(3).tolist() == expected
