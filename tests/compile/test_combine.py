"""Writes to repeated places by generated code: NumPy's bits for every form of index, and its errors."""

import numpy as np
import pytest

import rushlight as torch
from rushlight.compile import install
from rushlight.compile.lower.eager import combine
from rushlight.core.dispatch import extension_points
from rushlight.ops.index.duplicate_index import combine_at

pytestmark = pytest.mark.skipif(not combine.available(), reason="needs llvmlite")
SLOT = extension_points.combine_repeated


@pytest.fixture(autouse=True)
def slot_as_before():
    before = SLOT.value
    yield
    SLOT.register(before)


def _case(rng):
    """An array, index arrays of its first dimensions, and values, in layouts that calls make."""
    sizes = [int(n) for n in rng.integers(1, 6, rng.integers(1, 4))]
    rest = [int(n) for n in rng.integers(1, 20, rng.integers(0, 3))]
    shape = [int(n) for n in rng.integers(1, 7, rng.integers(1, 4))]
    kind = rng.choice([np.int64, np.int32])
    where = []
    for n in sizes:
        w = rng.integers(-n, n, [k if rng.random() < 0.6 else 1 for k in shape]).astype(kind)
        where.append(w[::-1] if rng.random() < 0.3 else w)
    dtype = rng.choice(["f4", "f8", "i8", "i4"])
    out = (rng.standard_normal((*sizes, *rest)) * 5).astype(dtype)
    reached = np.broadcast_shapes(*[w.shape for w in where])
    values = (rng.standard_normal((*reached, *rest)) * 5).astype(dtype)
    if dtype in ("f4", "f8"):
        values.flat[0] = np.nan
    if rng.random() < 0.3:
        values = np.asfortranarray(values)
    if rng.random() < 0.2:
        values = values.reshape(-1)[:1]
    return np.asfortranarray(out) if rng.random() < 0.3 else out, tuple(where), values


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("how", [np.add, np.multiply, np.maximum, np.minimum], ids=lambda f: f.__name__)
def test_same_bits(how):
    rng = np.random.default_rng(0)
    for _ in range(150):
        out, where, values = _case(rng)
        plain, fast = out.copy(order="K"), out.copy(order="K")
        SLOT.register(None)
        combine_at(how, plain, where, values)
        calls = []
        SLOT.register(lambda *given, calls=calls: calls.append(combine.combine(*given)) or calls[-1])
        combine_at(how, fast, where, values)
        assert calls == [True]
        assert np.array_equal(plain, fast, equal_nan=True)


@pytest.mark.parametrize("index", [[0, 5], [-6]])
def test_places_outside(index):
    SLOT.register(combine.combine)
    with pytest.raises(IndexError, match="index out of bounds for a dimension of size 5"):
        combine_at(np.add, np.zeros((5, 3), np.float32), (np.array(index),), 1.0)
    with pytest.raises(IndexError, match="index out of bounds for a dimension of size 3"):
        combine_at(np.add, np.zeros((5, 3), np.float32), (np.array([1]), np.array([3])), 1.0)


def test_what_it_leaves():
    out = np.zeros((3, 2), np.float32)
    index = np.array([0])
    assert not combine.combine("hypot", out, (index,), out[:1])
    assert not combine.combine("add", out.astype(np.float16), (index,), out[:1])
    assert not combine.combine("add", out.T, (index,), out[:1])
    assert not combine.combine("add", out, (index.astype(np.uint8),), out[:1])
    assert not combine.combine("add", out, (np.array(0),), out[0])
    assert not combine.combine("add", np.zeros((0, 2), np.float32), (index,), out[:1])


@pytest.mark.parametrize("on", [False, True])
def test_calls_that_use_it(on):
    SLOT.register(combine.combine if on else None)
    index = torch.tensor([[0, 2, 0], [2, 2, 1]])
    source = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    assert torch.zeros(3, 3).scatter_add(0, index, source).tolist() == [[1, 0, 3], [0, 0, 6], [4, 7, 0]]
    assert torch.zeros(2, 4).scatter_reduce(1, index, source, "amax").tolist() == [[3, 0, 2, 0], [0, 6, 5, 0]]
    assert torch.zeros(3, 2).index_add(0, torch.tensor([2, 2, 0]), torch.ones(3, 2)).tolist() == [
        [1, 1],
        [0, 0],
        [2, 2],
    ]
    assert torch.zeros(2, 3).index_add(1, torch.tensor([2, 2]), torch.ones(2, 2)).tolist() == [[0, 0, 2], [0, 0, 2]]
    source.gather(1, index).sum().backward()
    assert source.grad.tolist() == [[2, 0, 1], [0, 1, 2]]
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 0 with size 3"):
        torch.zeros(3, 3).scatter_add(0, torch.tensor([[3]]), source.detach())


def test_many_elements_load_it(monkeypatch):
    monkeypatch.setattr(install, "_elements_left", 10)
    SLOT.register(install._first_combine)
    torch.zeros(4).scatter_add(0, torch.tensor([1] * 8), torch.ones(8))
    assert SLOT.value is not combine.combine
    torch.zeros(4).scatter_add(0, torch.tensor([1] * 8), torch.ones(8))
    assert SLOT.value is combine.combine
