"""Nests as generated code against NumPy."""

from math import sqrt

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from evaluate import Memory, run_node
from native import compare, run_native
from random_nests import Generator

from rushlight.compile.ir.expression import Expr, apply, cast, const, gather, index, load
from rushlight.compile.ir.graph import Loop, Nest, Reduce, Ref, Store, Value
from rushlight.compile.lower.llvm import nest
from rushlight.compile.lower.llvm.nest import emit

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)


def filled(memory, shape, dtype=F32, seed=0):
    """A value with random content."""
    v = Value(shape, dtype)
    x = np.random.default_rng(seed).normal(size=shape)
    memory.put(v, x.astype(dtype) if v.dtype.kind not in "iu" else np.round(x * 20).astype(dtype))
    return v


def repeat(v, space):
    """A value of the first axes at every point of a space."""
    return load(Ref(v, space, v.strides + (0,) * (len(space) - len(v.shape)), 0))


def along_last(v, space):
    return load(v.ref().broadcast(space))


@pytest.mark.parametrize("check", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("first", range(0, 160, 20))
def test_random_nests(first, check):
    with np.errstate(all="ignore"):
        for seed in range(first + 1000 * check, first + 1000 * check + (10 if check else 20)):
            made = Generator(seed)
            node = made.node()
            compare([node], made.memory, not isinstance(node, Loop))


# ---------------------------------------------------------------------------------------- rows


def softmax(x, rows, n):
    space, outer = (rows, n), (rows,)
    top, e, total, y = Value(outer, F32), Value(space, F32), Value(outer, F32), Value(space, F32)
    stages = [
        Reduce(space, (1,), "max", load(x.ref()), top),
        Loop(space, [Store(e.ref(), apply("exp", apply("sub", load(x.ref()), repeat(top, space))))]),
        Reduce(space, (1,), "sum", load(e.ref()), total),
        Loop(space, [Store(y.ref(), apply("div", load(e.ref()), repeat(total, space)))]),
    ]
    return Nest(outer, (n,), stages, {top, e, total})


@pytest.mark.parametrize(("rows", "n"), [(1, 1), (5, 3), (64, 10), (3, 16), (7, 100), (4, 1000), (2, 70_000)])
def test_softmax(rows, n):
    memory = Memory()
    compare([softmax(filled(memory, (rows, n)), rows, n)], memory)


def test_softmax_over_columns():
    """The reduced axis is the outer one in memory: lanes run along the kept axis, local rows are blocks of columns."""
    memory = Memory()
    x = filled(memory, (50, 70))
    nest = softmax(x, 70, 50)
    across = x.ref().permute((1, 0))
    old = next(e for e in nest.stages[0].expr.walk())
    for stage in nest.stages[:2]:
        if isinstance(stage, Reduce):
            stage.expr = load(across)
        else:
            swap = stage.stores[0].expr.rebuild(
                lambda e: load(across) if e.op == "load" and e.data == old.data else None
            )
            stage.stores = [Store(stage.stores[0].ref, swap)]
    compare([nest], memory)


def layer_norm(x, w, b, rows, n):
    space, outer = (rows, n), (rows,)
    total, mean, squares, scale = (Value(outer, F32) for _ in range(4))
    y = Value(space, F32)
    centred = apply("sub", load(x.ref()), repeat(mean, space))
    part = const(1 / n, F32)
    variance = apply("add", apply("mul", load(squares.ref()), part), const(1e-5, F32))
    scaled = apply("mul", apply("mul", centred, repeat(scale, space)), along_last(w, space))
    stages = [
        Reduce(space, (1,), "sum", load(x.ref()), total),
        Loop(outer, [Store(mean.ref(), apply("mul", load(total.ref()), part))]),
        Reduce(space, (1,), "sum", apply("square", centred), squares),
        Loop(outer, [Store(scale.ref(), apply("rsqrt", variance))]),
        Loop(space, [Store(y.ref(), apply("add", scaled, along_last(b, space)))]),
    ]
    return Nest(outer, (n,), stages, {total, squares}), mean, scale


def layer_norm_backward(x, w, g, mean, scale, rows, n):
    """dx = scale (gw - mean(gw) - xhat mean(gw xhat))."""
    space, outer = (rows, n), (rows,)
    first, second, dx, hat = Value(outer, F32), Value(outer, F32), Value(space, F32), Value(space, F32)
    gw = apply("mul", load(g.ref()), along_last(w, space))
    part = const(1 / n, F32)
    scaled = apply("mul", apply("sub", load(x.ref()), repeat(mean, space)), repeat(scale, space))
    average = apply("mul", repeat(first, space), part)
    along = apply("mul", load(hat.ref()), apply("mul", repeat(second, space), part))
    out = apply("mul", repeat(scale, space), apply("sub", apply("sub", gw, average), along))
    stages = [
        Loop(space, [Store(hat.ref(), scaled)]),
        Reduce(space, (1,), "sum", gw, first),
        Reduce(space, (1,), "sum", apply("mul", gw, load(hat.ref())), second),
        Loop(space, [Store(dx.ref(), out)]),
    ]
    return Nest(outer, (n,), stages, {first, second, hat})


@pytest.mark.parametrize(("rows", "n"), [(6, 5), (40, 256), (3, 1000)])
def test_layer_norm_forward_and_backward(rows, n):
    memory = Memory()
    x, g = filled(memory, (rows, n)), filled(memory, (rows, n), seed=1)
    w, b = filled(memory, (n,), seed=2), filled(memory, (n,), seed=3)
    forward, mean, scale = layer_norm(x, w, b, rows, n)
    compare([forward, layer_norm_backward(x, w, g, mean, scale, rows, n)], memory)


# ---------------------------------------------------------------------------------------- reductions

KINDS = ["sum", "prod", "max", "min", "argmax", "argmin", "any", "all"]
SHAPES = [((7,), (0,)), ((5, 40), (1,)), ((40, 5), (0,)), ((300, 130), (0,)), ((4, 6, 33), (0, 2)), ((4, 6, 33), (1,))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.bool_], ids=lambda t: t.__name__)
def test_reductions(kind, dtype):
    if dtype is np.bool_ and kind in ("sum", "prod"):
        return  # of bool: a cast comes first
    memory, nodes = Memory(), []
    for shape, axes in SHAPES:
        x = Value(shape, dtype)
        content = np.random.default_rng(len(shape)).normal(size=shape)
        content = np.sign(content) * 0.5 + 1 if kind == "prod" else content
        memory.put(x, np.abs(np.round(content * 3)).astype(dtype) if dtype is not np.float32 else content.astype(dtype))
        kept = tuple(n for i, n in enumerate(shape) if i not in axes)
        e = cast(load(x.ref()), np.bool_) if kind in ("any", "all") else load(x.ref())
        nodes.append(Reduce(shape, axes, kind, e, Value(kept, I64 if kind.startswith("arg") else e.dtype)))
    compare(nodes, memory)


@pytest.mark.parametrize("kind", ["max", "min", "argmax", "argmin"])
def test_nan_and_ties(kind):
    """nan wins, the first of equals is found, also where all is infinite."""
    rows = [
        [1, 3, 3, 2],
        [np.nan, 5, np.nan, 9],
        [4, np.nan, 5, 5],
        [-np.inf] * 4,
        [np.inf] * 4,
        [0.0, -0.0, 0.0, -0.0],
    ]
    memory, nodes = Memory(), []
    for repeats in (1, 5, 20):
        x = np.tile(np.array(rows, np.float32), (1, repeats))
        for axes, shape in (((1,), x.shape), ((0,), x.T.shape)):
            v = Value(shape, F32)
            memory.put(v, x if axes == (1,) else x.T)
            kept = (shape[1 - axes[0]],)
            nodes.append(Reduce(shape, axes, kind, load(v.ref()), Value(kept, I64 if "arg" in kind else F32)))
    compare(nodes, memory)


def test_long_sums_keep_their_digits():
    """A million tenths in float32, in rows and columns and whole: exact to rounding."""
    n = 1 << 20
    memory, nodes, wants = Memory(), [], []
    for shape, axes in [
        ((n,), (0,)),
        ((2, n // 2), (1,)),
        ((n // 2, 2), (0,)),
        ((64, n // 64), (0, 1)),
        ((n // 20, 20), (0, 1)),
    ]:
        x = Value(shape, F32)
        memory.put(x, np.full(shape, 0.1, np.float32))
        kept = tuple(k for i, k in enumerate(shape) if i not in axes)
        nodes.append(Reduce(shape, axes, "sum", load(x.ref()), Value(kept, F32)))
        wants.append(float(np.float32(0.1)) * np.prod([shape[a] for a in axes]))
    run_native(nodes, memory)
    for node, want in zip(nodes, wants, strict=True):
        np.testing.assert_allclose(memory[node.result], want, rtol=3e-7)


def test_short_floats_are_summed_in_float32():
    for dtype in (np.float16, ml_dtypes.bfloat16):
        memory = Memory()
        x = filled(memory, (3, 5000), dtype)
        result = Value((3,), dtype)
        run_native([Reduce((3, 5000), (1,), "sum", load(x.ref()), result)], memory)
        want = memory[x].reshape(3, 5000).astype(np.float64).sum(1)
        np.testing.assert_allclose(memory[result].astype(np.float64), want, rtol=float(ml_dtypes.finfo(dtype).eps))


def test_several_reductions_share_a_pass_over_columns():
    """Sum and sum of squares over the rows, in parts (the work is large, the columns are few), and what follows."""
    memory, rows, n = Memory(), 20_000, 24
    x = filled(memory, (rows, n))
    space, down = (n, rows), Ref(x, (n, rows), (1, n), 0)
    total, squares, top, place = Value((n,), F32), Value((n,), F32), Value((n,), F32), Value((n,), I64)
    mean, spread = Value((n,), F32), Value((n,), F32)
    part = const(1 / rows, F32)
    average = apply("mul", load(total.ref()), part)
    variance = apply("sub", apply("mul", load(squares.ref()), part), apply("square", average))
    stages = [
        Reduce(space, (1,), "sum", load(down), total),
        Reduce(space, (1,), "sum", apply("square", load(down)), squares),
        Reduce(space, (1,), "max", load(down), top),
        Reduce(space, (1,), "argmax", load(down), place),
        Loop((n,), [Store(mean.ref(), average), Store(spread.ref(), apply("sqrt", variance))]),
    ]
    nest = Nest((n,), (rows,), stages, {total, squares})
    assert emit(nest, "k").finish_units
    compare([nest], memory)


def test_reduction_over_nothing():
    memory = Memory()
    x = filled(memory, (3, 0))
    nodes = [Reduce((3, 0), (1,), kind, load(x.ref()), Value((3,), F32)) for kind in ("sum", "prod")]
    compare([*nodes, Reduce((3, 0), (0,), "sum", load(x.ref()), Value((0,), F32))], memory)


# ---------------------------------------------------------------------------------------- maps


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (33, 65), (200, 300), (64, 64)])
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int16, np.bool_, ml_dtypes.bfloat16], ids=lambda t: t.__name__
)
def test_transpose(shape, dtype):
    memory = Memory()
    x = filled(memory, shape, dtype)
    y = Value(shape[::-1], dtype)
    compare([Loop(shape[::-1], [Store(y.ref(), load(x.ref().permute((1, 0))))])], memory)


def test_nchw_to_nhwc_with_channel_bias():
    memory, n, c, h, w = Memory(), 3, 19, 6, 7
    x, b = filled(memory, (n, c, h, w)), filled(memory, (c,), seed=1)
    space = (n, c, h, w)
    y = Value(space, F32, (c * h * w, 1, w * c, c))
    bias = load(Ref(b, space, (0, 1, 0, 0), 0))
    compare([Loop(space, [Store(y.ref(), apply("add", load(x.ref()), bias))])], memory)


def test_embedding_rows():
    """A gather whose last coordinate is the position: whole rows; and one whose coordinates are all computed."""
    memory = Memory()
    table = filled(memory, (11, 40))
    rows = Value((9,), I64)
    memory.put(rows, np.random.default_rng(0).integers(0, 11, 9))
    at = load(Ref(rows, (9, 40), (1, 0), 0))
    out, pick = Value((9, 40), F32), Value((9,), F32)
    other = Expr("cast", (load(rows.ref()),), I64)
    nodes = [
        Loop((9, 40), [Store(out.ref(), gather(table.ref(), (at, index(1))))]),
        Loop((9,), [Store(pick.ref(), gather(table.ref(), (index(0), other)))]),
    ]
    compare(nodes, memory)


def test_part_of_a_value_is_written():
    """`onto`: what the window does not cover keeps its content, since the planner gives both the same memory."""
    memory = Memory()
    x, old = filled(memory, (3, 8)), filled(memory, (6, 16), seed=1)
    new = Value((6, 16), F32)
    part = Ref(new, (3, 8), (32, 2), 1)
    node = Loop((3, 8), [Store(part, apply("neg", load(x.ref())), old)])
    mine = {x: memory[x].copy(), new: memory[old].copy(), old: memory[old].copy()}
    run_native([node], mine)
    run_node(node, memory)
    np.testing.assert_array_equal(mine[new], memory[new])


@pytest.mark.parametrize("n", [1, 15, 16, 100, 5000, 100_000])
def test_in_place(n):
    """Outputs may be stored where inputs that are read at the same point are."""
    memory = Memory()
    x, g = filled(memory, (n,)), filled(memory, (n,), seed=1)
    y, h = Value((n,), F32), Value((n,), F32)
    loop = Loop(
        (n,),
        [
            Store(y.ref(), apply("add", load(x.ref()), load(g.ref()))),
            Store(h.ref(), apply("mul", load(x.ref()), load(g.ref()))),
        ],
    )
    want = memory[x] + memory[g], memory[x] * memory[g]
    run_native([loop], {x: memory[x], y: memory[x], g: memory[g], h: memory[g]})
    np.testing.assert_array_equal(memory[x], want[0])
    np.testing.assert_array_equal(memory[g], want[1])


def test_softmax_in_place():
    memory = Memory()
    x = filled(memory, (5, 200))
    nest = softmax(x, 5, 200)
    a = memory[x].reshape(5, 200).astype(np.float64)
    want = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    run_native([nest], {x: memory[x], next(iter(nest.writes())): memory[x]})
    np.testing.assert_allclose(memory[x].reshape(5, 200), want, rtol=1e-5)


def test_large_maps_are_split_evenly():
    """Sizes around the blocks that threads share."""
    memory, nodes = Memory(), []
    for n in (4095, 4097, 65_537, 1_000_003):
        x = filled(memory, (n,), seed=n)
        nodes.append(Loop((n,), [Store(Value((n,), F32).ref(), apply("mul", load(x.ref()), const(sqrt(2), F32)))]))
    x = filled(memory, (3, 50_001))
    nodes.append(Loop((3, 50_001), [Store(Value((50_001, 3), F32).ref().permute((1, 0)), load(x.ref()))]))
    compare(nodes, memory)


def test_stores_do_not_overtake_loads_of_what_they_replace():
    """The middle loop needs a sum; the last does not, and is stored on top of what the middle one reads."""
    memory = Memory()
    space = (4, 33)
    x = filled(memory, space)
    total, scaled, y = Value((4,), F32), Value(space, F32), Value(space, F32)
    stages = [
        Reduce(space, (1,), "sum", load(x.ref()), total),
        Loop(space, [Store(scaled.ref(), apply("mul", load(x.ref()), repeat(total, space)))]),
        Loop(space, [Store(y.ref(), const(5, F32))]),
    ]
    a = memory[x].reshape(space).astype(np.float64)
    run_native(
        [Nest((4,), (33,), stages, set())],
        {x: memory[x], y: memory[x], total: np.zeros(4, F32), scaled: (out := np.zeros(132, F32))},
    )
    np.testing.assert_allclose(out.reshape(space), a * a.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_array_equal(memory[x], 5)


def test_a_nest_in_parts_updates_in_place_once():
    """A long sum of few columns runs in parts; the counter next to it goes up by one."""
    memory, rows, n = Memory(), 300_000, 3
    x, old = filled(memory, (rows, n)), filled(memory, (n,), seed=1)
    new, total = Value((n,), F32), Value((n,), F32)
    down = Ref(x, (n, rows), (1, n), 0)
    stages = [
        Loop((n,), [Store(new.ref(), apply("add", load(old.ref()), const(1, F32)))]),
        Reduce((n, rows), (1,), "sum", load(down), total),
    ]
    want, sums = memory[old] + 1, memory[x].reshape(rows, n).sum(0, dtype=np.float64)
    mine = {x: memory[x], old: memory[old], new: memory[old], total: np.zeros(n, F32)}
    nest = Nest((n,), (rows,), stages, set())
    assert emit(nest, "k").finish_units
    run_native([nest], mine)
    np.testing.assert_array_equal(mine[new], want)
    np.testing.assert_allclose(mine[total], sums, rtol=1e-5)


def test_inner_of_nothing_still_runs_once_for_each_row():
    memory = Memory()
    x, empty = filled(memory, (3,)), filled(memory, (3, 0))
    y, z, total = Value((3,), F32), Value((3, 0), F32), Value((3,), F32)
    stages = [
        Loop((3,), [Store(y.ref(), apply("neg", load(x.ref())))]),
        Loop((3, 0), [Store(z.ref(), load(empty.ref()))]),
    ]
    compare([Nest((3,), (0,), stages, set())], memory)
    memory = Memory()
    empty = filled(memory, (3, 0))
    stages = [
        Reduce((3, 0), (1,), "sum", load(empty.ref()), total),
        Loop((3,), [Store(y.ref(), apply("add", load(total.ref()), const(2, F32)))]),
    ]
    compare([Nest((3,), (0,), stages, {total})], memory)


@pytest.mark.parametrize("n", [6, 40, 20_000])
def test_local_rows_are_read_at_other_points(n):
    """Neighbours, halves and single elements of a local row; by rows and by columns."""
    for across in (False, True):
        memory, rows = Memory(), 18
        x = filled(memory, (n, rows) if across else (rows, n))
        seen = x.ref().permute((1, 0)) if across else x.ref()
        space, outer = (rows, n), (rows,)
        t, y, last, pairs = Value(space, F32), Value(space, F32), Value(outer, F32), Value(outer, F32)
        swapped = Ref(t, (rows, n // 2, 2), (n, 1, n // 2), 0)  # the row as two halves side by side
        first = Ref(t, space, (n, 0), 0)
        stages = [
            Loop(space, [Store(t.ref(), apply("mul", load(seen), const(3, F32)))]),
            Loop(outer, [Store(last.ref(), load(Ref(t, outer, (n,), n - 1)))]),
            Loop(space, [Store(y.ref(), apply("sub", load(t.ref()), load(first)))]),
            Reduce(space, (1,), "max", apply("add", load(t.ref()), load(first)), pairs),
        ]
        compare([Nest(outer, (n,), stages, {t})], memory)
        u = Value((rows, n // 2, 2), F32)
        v = Value((rows, n // 2, 2), F32)
        deep = (rows, n // 2, 2)
        flat = Ref(t, deep, (n, 2, 1), 0)
        memory = Memory()
        x = filled(memory, (n // 2, 2, rows) if across else deep)
        seen = x.ref().permute((2, 0, 1)) if across else x.ref()
        stages = [
            Loop(deep, [Store(flat, apply("neg", load(seen)))]),
            Loop(deep, [Store(u.ref(), load(swapped)), Store(v.ref(), apply("add", load(flat), load(swapped)))]),
        ]
        compare([Nest(outer, deep[1:], stages, {t})], memory)


def test_a_local_row_of_a_long_reduction_is_kept_whole():
    """Read again after the pass that sums it: such a nest does not run in parts."""
    memory, rows, n = Memory(), 2, 100_000
    x = filled(memory, (rows, n))
    t, total, last = Value((rows, n), F32), Value((rows,), F32), Value((rows,), F32)
    stages = [
        Loop((rows, n), [Store(t.ref(), apply("mul", load(x.ref()), const(3, F32)))]),
        Reduce((rows, n), (1,), "sum", load(t.ref()), total),
        Loop((rows,), [Store(last.ref(), load(Ref(t, (rows,), (n,), n - 1)))]),
    ]
    compare([Nest((rows,), (n,), stages, {t})], memory)


@pytest.mark.parametrize("room", [0, 1 << 26], ids=["malloc", "scratch"])
def test_long_local_rows(room, monkeypatch):
    monkeypatch.setattr(nest, "_SCRATCH_ROWS", room)
    memory = Memory()
    first, second = softmax(filled(memory, (5, 10_000)), 5, 10_000), softmax(filled(memory, (3, 20_001)), 3, 20_001)
    compare([first, second], memory)
    assert (emit(first, "k").scratch_bytes > 0) == bool(room)


def test_local_value_of_another_row_is_refused():
    x, t, y = (Value((4, 4), F32) for _ in range(3))
    stages = [
        Loop((4, 4), [Store(t.ref(), load(x.ref()))]),
        Loop((4, 4), [Store(y.ref(), load(t.ref().permute((1, 0))))]),
    ]
    with pytest.raises(NotImplementedError, match="local value"):
        emit(Nest((4,), (4,), stages, {t}), "k")
