"""Elementwise operators over arrays that are not alike (`compile/jit/layout.py`): slices, broadcast and expanded ones, any order."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile.jit import eager, flat, layout
from rushlight.compile.lower.eager.strided import divided
from rushlight.compile.lower.llvm import engine
from rushlight.core.dispatch.mode import thread
from rushlight.core.dispatch.op import JIT_CANDIDATES
from rushlight.core.tensor.strides import ordered

pytestmark = pytest.mark.skipif(not engine.available(), reason="needs the compiler")

ROWS = {r.name: r for r in JIT_CANDIDATES if r.kind != "general"}
GENERAL = {
    "where": (3, ()),
    "cut": (3, (False,)),
    "silu": (1, ()),
    "leaky_relu": (1, (0.1,)),
    "leaky_relu_backward": (2, (0.1,)),
    "gelu_backward": (2, ("none",)),
    "hardtanh": (1, (-0.5, 0.5)),
    "clamp": (1, (-0.5, 0.5)),
    "masked_fill": (2, ()),
    "masked_fill.number": (2, (7.0,)),
    "prelu_kernel": (2, ()),
}
RECORDS = {r.name: r for r in JIT_CANDIDATES}
MASKS = {"where": 0, "cut": 2, "masked_fill": 1, "masked_fill.number": 1}


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(flat._route, "is_due", lambda *_: True)


def array(rng, shape, dtype, is_whole=False):
    """An array of this shape, or one to be broadcast to it, with gaps, in another order, or repeated along dimensions."""
    shape = (
        list(shape)
        if is_whole
        else [1 if rng.random() < 0.15 else n for n in shape][
            int(rng.integers(0, 2)) * int(rng.integers(0, len(shape))) :
        ]
    )
    order = rng.permutation(len(shape)) if rng.random() < 0.4 else range(len(shape))
    gaps = [int(rng.choice([1, 1, 1, 2])) for _ in shape]
    whole = rng.random([shape[i] * gaps[i] + int(rng.integers(0, 2)) for i in order]) - 0.5
    a = whole > 0 if dtype is bool else whole.astype(dtype)
    a = a.transpose(np.argsort(order))[tuple(slice(0, n * g, g) for n, g in zip(shape, gaps, strict=True))]
    if rng.random() < 0.15:
        a = np.broadcast_to(a[:1], shape)
    return a


def arguments(rng, name):
    dims = int(rng.integers(1, 5))
    shape = [int(n) for n in rng.integers(1, 6, dims)]
    shape[int(rng.integers(0, dims))] = int(rng.choice([40, 67, 128, 5000]))
    dtype = rng.choice([np.float32, np.float64])
    if name in ROWS:
        n = {"unary": 1, "binary": 2}[ROWS[name].kind]
        if n == 2 and rng.random() < 0.15:
            return (array(rng, shape, dtype), 0.5)
        return tuple([array(rng, shape, dtype) for _ in range(n)])
    if name == "masked_fill":
        return array(rng, shape, dtype), array(rng, shape, bool), np.asarray(7.0, dtype)
    n, rest = GENERAL[name]
    if name == "prelu_kernel":
        return array(rng, shape, dtype), rng.random([1] * dims).astype(dtype)
    if name == "cut":
        x = array(rng, shape, dtype)
        return x, rng.random(x.shape).astype(dtype), array(rng, x.shape, bool, True), *rest
    return (*[array(rng, shape, bool if MASKS.get(name) == i else dtype) for i in range(n)], *rest)


def as_by_entry(record, r, given):
    """A result as the entry point of the operator leaves it."""
    return ordered(r, *given) if record.kind == "binary" and not given[0].flags.c_contiguous and r.ndim > 1 else r


@pytest.mark.parametrize("name", [*ROWS, *GENERAL])
def test_results_and_their_memory_are_the_kernels(name):
    record, rng = RECORDS[name], np.random.default_rng(sum(map(ord, name)))
    for _ in range(12):
        given = arguments(rng, name)
        try:
            with np.errstate(all="ignore"):
                expected = as_by_entry(record, record.reference(*given), given)
        except (AttributeError, TypeError, RuntimeError, ValueError):  # not of these types
            continue
        for _ in range(2):  # the second time by the program
            with np.errstate(all="ignore"):
                found = as_by_entry(record, eager.run(record, given, {}), given)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, 2e-5, 2e-6)
        moved = [d for d, n in enumerate(found.shape) if n > 1]
        plain = not any(
            1 in a.shape for a in given if isinstance(a, np.ndarray)
        )  # else torch's order may not be NumPy's
        if record.kind != "unary" and plain:  # NumPy's order, which entry points leave
            assert [found.strides[d] for d in moved] == [expected.strides[d] for d in moved], [
                (a.shape, a.strides) for a in given if isinstance(a, np.ndarray)
            ]


@pytest.mark.parametrize("name", ["add", "mul", "div", "hardtanh", "silu"])
def test_what_is_written_into_its_first_operand(name):
    record, rng = RECORDS[name], np.random.default_rng(5)
    served = 0
    for _ in range(60):
        given = arguments(rng, name)
        first = given[0]
        if name in ROWS and np.broadcast_shapes(*[np.shape(a) for a in given]) != first.shape or 0 in first.strides:
            continue
        first = np.lib.stride_tricks.as_strided(first, writeable=True)
        before = first.copy()
        expected = record.reference(before, *given[1:])
        for _ in range(2):
            first[...] = before
            thread.state.target = first
            try:
                found = eager.run(record, (first, *given[1:]), {})
            finally:
                thread.state.target = None
            np.testing.assert_allclose(found, expected, 1e-5, 1e-6)
        served += found is first
    assert served > 5


def test_threads_share_long_rows_and_few_and_many():
    for shape in ((3, 70_000), (70_000, 40), (2, 3, 4, 9000), (1, 300_000)):
        a = np.random.default_rng(0).random((*shape[:-1], shape[-1] + 3), np.float32)[..., 2:-1]
        b = np.random.default_rng(1).random((*shape[:-1], 1), np.float32)
        for _ in range(2):
            found = eager.run(RECORDS["mul"], (a, b), {})
        np.testing.assert_array_equal(found, a * b)


def rows_of(*arrays):
    known = layout.layout_of(arrays)
    assert known is not None
    return known.rows


def test_what_has_no_rows():
    assert rows_of(np.zeros((100, 100)), np.zeros(100)) is None  # a program of these shapes is faster
    assert rows_of(np.zeros((100, 101))[:, 1:], np.zeros(100)) is not None
    assert layout.layout_of([np.zeros((100, 8)), np.zeros(7)]) is None
    assert rows_of(np.zeros((0, 80)), np.zeros(80)) is None
    assert divided([(2, (9, 9))] * 6) is None
    short = rows_of(np.zeros((100, 8))[:, :5])
    assert short is not None
    assert short.n == 500  # copied


def test_in_place_where_memory_is_shared():
    a = np.arange(400_001, dtype=np.float32)
    for _ in range(3):
        a[:] = np.arange(400_001)
        x, y = torch.from_numpy(a[1:]), torch.from_numpy(a[:-1])
        x.add_(y)
        np.testing.assert_array_equal(a[1:], 2 * np.arange(400_000, dtype=np.float32) + 1)


def test_products_of_columns_and_rows():
    x, y = torch.randn(700), torch.randn(700)
    for _ in range(200):
        found = x[:, None] * y
    np.testing.assert_array_equal(found.numpy(), np.multiply.outer(x.numpy(), y.numpy()))
    assert any(key[0] == "mul" for key in flat._state.programs)


def test_dimensions_in_a_list():
    x = torch.rand(8, 64, 64, 8).transpose(1, 2)
    for _ in range(12):  # until a program would take over
        for f in (torch.sum, torch.mean, torch.amax, torch.var, torch.logsumexp):
            assert torch.allclose(f(x, [1, 2]), f(x.contiguous(), (1, 2)), rtol=1e-4)


def test_entry_points_look_at_both_operands_until_the_kernel_changes(monkeypatch):
    record = RECORDS["hypot"]
    scope, kernel = record.complete_scope(), record.kernel
    monkeypatch.setattr(record, "wide", 0)
    monkeypatch.setitem(scope, "kernel", kernel)
    x, y = torch.randn(2, 1), torch.randn(70_000)
    for _ in range(9):
        torch.hypot(x, y)
    assert scope["kernel"] is not kernel
    np.testing.assert_allclose(torch.hypot(x, y).numpy(), np.hypot(x.numpy(), y.numpy()), 1e-6)
    assert torch.hypot(x, y[:3]).shape == (2, 3)
    record.replace(kernel)
    assert scope["kernel"] is kernel
    for _ in range(9):
        torch.hypot(x, y)
    assert scope["kernel"] is not kernel
