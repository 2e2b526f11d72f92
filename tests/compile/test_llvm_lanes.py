"""Vectors whose lanes are not simply side by side in memory: over two axes, repeated, strided, turned round."""

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from evaluate import Memory
from native import compare, run_native
from random_lanes import Short

from rushlight.compile.ir.expression import apply, cast, const, index, load
from rushlight.compile.ir.graph import Loop, Ref, Store, Value, row_major
from rushlight.compile.lower.llvm import plan
from rushlight.compile.lower.llvm.lanes import cover, is_plain, pattern, spread
from rushlight.compile.lower.llvm.nest import emit
from rushlight.compile.lower.llvm.plan import Plan, prepare

F32, F64, U8, I16, I32, I64 = (np.dtype(t) for t in (np.float32, np.float64, np.uint8, np.int16, np.int32, np.int64))
BF16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture(params=[16, 32, 64], ids="{} bytes".format)
def registers(request, monkeypatch):
    """Vector registers of other machines; LLVM makes them out of those that are there."""
    monkeypatch.setattr(plan, "vector_bytes", lambda: request.param)


@pytest.mark.parametrize("check", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("first", range(0, 60, 15))
def test_random_short_axes(registers, first, check):
    for seed in range(first + 1000 * check, first + 1000 * check + (5 if check else 15)):
        with np.errstate(all="ignore"):
            made = Short(seed)
            node = made.node()
        compare([node], made.memory, False, check)


PATTERNS = [
    (1, 0, 2),
    (1, 0, 3),
    (0, 1, 2),
    (6, 0, 2),
    (2, 784, 6),
    (1, 64, 4),
    (5, -2, 4),
    (2, 0, 1),
    (-1, 0, 1),
    (7, 0, 1),
]


@pytest.mark.parametrize("width", [4, 16])
@pytest.mark.parametrize(("stride", "within", "short"), PATTERNS)
def test_loads_cover_the_lanes_and_nothing_beyond(stride, within, short, width):
    for count in range(1, width + 1):
        lanes = pattern(stride, within, short, width)[:count]
        found = cover(lanes, width)
        if found is None:
            continue
        assert [found.starts[p] + i for p, i in found.pick] == list(lanes)
        assert min(found.starts) >= min(lanes) and max(found.starts) + found.size - 1 <= max(lanes)


@pytest.mark.parametrize("width", [4, 16])
@pytest.mark.parametrize(
    ("stride", "within", "short"), [(2, 0, 1), (-1, 0, 1), (3, 0, 1), (1, 64, 4), (2, 1, 2), (-3, 1, 2)]
)
def test_stores_reach_every_lane_once(stride, within, short, width):
    lanes = pattern(stride, within, short, width)
    parts = spread(lanes, width)
    if parts is not None:
        reached = {start + e: lane for start, source in parts.items() for e, lane in enumerate(source) if lane >= 0}
        assert reached == {x: i for i, x in enumerate(lanes)}


def test_patterns():
    assert pattern(3, 1, 2, 6) == (0, 1, 3, 4, 6, 7)
    assert is_plain(pattern(2, 1, 2, 8)) and not is_plain(pattern(1, 0, 2, 8))
    assert cover(pattern(1, 0, 2, 16), 16) == (8, (0,), tuple((0, i // 2) for i in range(16)))
    assert cover(pattern(100, 0, 1, 16), 16) is None and spread(pattern(100, 0, 1, 16), 16) is None


@pytest.mark.parametrize("stride", [1, 2, 40])
@pytest.mark.parametrize("dtype", [BF16, I16, U8, np.dtype(np.int8), F32], ids=str)
def test_a_lane_alone_stores_no_more_than_itself(registers, dtype, stride):
    """LLVM stores the number before it is narrowed where a mask has one lane."""
    memory, x = Memory(), Value((33,), F32 if dtype.kind not in "iu" else I32)
    memory.put(x, np.arange(33) - 7)
    y = Value((32 * stride + 1,), dtype)
    memory.put(y, np.zeros(y.size))
    compare([Loop((33,), [Store(Ref(y, (33,), (stride,), 0), cast(load(x.ref()), dtype))])], memory, False)


# ---------------------------------------------------------------------------------------- pooling


def pool_backward(memory, n, c, h, w, k, channels_last, dtype=F32, place_dtype=U8):
    """gx = where(relu(x) <= 0, 0, where(place == position in the pooled window, g, 0))."""
    space = (n, c, h, k, w, k)
    rng = np.random.default_rng(n + k)
    small = (h * w * c, 1, w * c, 0, c, 0) if channels_last else (c * h * w, h * w, w, 0, 1, 0)
    x, g, place = (
        Value((m,), t)
        for m, t in ((n * c * h * k * w * k, dtype), (n * c * h * w, dtype), (n * c * h * w, place_dtype))
    )
    for v in (x, g):
        memory.put(v, (rng.normal(size=v.size) * 9).astype(v.dtype))
    memory.put(place, rng.integers(0, k * k, place.size))
    zero = const(0, dtype)
    seen = load(Ref(x, space, row_major(space), 0))
    position = apply("add", apply("mul", cast(index(3), I32), const(k, I32)), cast(index(5), I32))
    mine = apply("eq", load(Ref(place, space, small, 0)), cast(position, place_dtype))
    chosen = apply("where", mine, load(Ref(g, space, small, 0)), zero)
    gx = Value(space, dtype)
    off = apply("le", apply("maximum", seen, zero), zero)
    return Loop(space, [Store(gx.ref(), apply("where", off, zero, chosen))]), x, gx


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("k", range(2, 9))
def test_pooling_backward(registers, k, channels_last):
    for w in (1, 3, 14, 33):
        for types in ((F32, U8), (F64, I64), (I64, U8)):
            memory = Memory()
            node, x, gx = pool_backward(memory, 2, 3, 5, w, k, channels_last, *types)
            kept = {v: a.copy() for v, a in memory.items()}
            compare([node], memory, False, check=True)
            in_place = {**kept, gx: kept[x]}
            run_native([node], in_place)
            np.testing.assert_array_equal(in_place[x], memory[gx])


def test_lanes_run_over_the_short_axis_of_pooling():
    chosen = Plan(prepare(pool_backward(Memory(), 64, 6, 14, 14, 2, True)[0]))
    assert chosen.short == 2 and "gather" not in emit(pool_backward(Memory(), 4, 6, 14, 14, 2, False)[0], "k").text


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [F32, U8, F64], ids=str)
def test_pooling_forward(registers, dtype, channels_last):
    memory, n, c, h, w = Memory(), 2, 6, 5, 14
    x = Value((n, c, 2 * h, 2 * w), dtype)
    memory.put(x, (np.random.default_rng(0).normal(size=x.shape) * 9).astype(dtype))
    space = (n, c, h, w)
    strides = (c * h * w * 4, h * w * 4, w * 4, 2)
    parts = [load(Ref(x, space, strides, a * 2 * w + b)) for a in (0, 1) for b in (0, 1)]
    top, place = parts[0], const(0, U8)
    for i, part in enumerate(parts[1:], 1):
        better = apply("gt", part, top)
        top, place = apply("where", better, part, top), apply("where", better, const(i, U8), place)
    out = (h * w * c, 1, w * c, c) if channels_last else row_major(space)
    stores = [Store(Value(space, dtype, out).ref(), top), Store(Value(space, U8, out).ref(), place)]
    compare([Loop(space, stores)], memory, False, check=True)
