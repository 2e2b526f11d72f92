"""Random loops, reductions and nests, with random memory: of all types, permuted, broadcast, with offsets and gaps."""

from __future__ import annotations

from math import prod

import ml_dtypes
import numpy as np
from evaluate import Memory

from rushlight.compile.ir.expression import Expr, apply, cast, const, index, load
from rushlight.compile.ir.graph import Loop, Nest, Reduce, Ref, Store, Value

BOOL = np.dtype(np.bool_)
FLOATS = [np.dtype(t) for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)]
INTS = [np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64, np.uint8)]
_FLOAT_UNARY = ["neg", "abs", "sign", "sqrt", "exp", "tanh", "sigmoid", "square", "floor", "ceil", "round"]
_FLOAT_BINARY = ["add", "sub", "mul", "maximum", "minimum", "div"]
_INT_UNARY = ["neg", "abs", "sign", "square"]
_INT_BINARY = ["add", "sub", "mul", "maximum", "minimum", "and", "or", "xor", "floordiv", "mod"]
_LENGTHS = [1, 2, 3, 5, 7, 16, 17, 33, 64, 100]


class Generator:
    """Makes one node and the memory that it reads. functions: of one float."""

    functions = _FLOAT_UNARY

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.memory = Memory()
        self.leaves: list[Expr] = []

    def node(self) -> Loop | Reduce | Nest:
        space = self.space()
        kind = self.rng.random()
        if kind < 0.45 or not space:
            return self.loop(space)
        return self.reduction(space) if kind < 0.75 else self.nest(space)

    def pick(self, options: list):
        return options[self.rng.integers(len(options))]

    def space(self) -> tuple[int, ...]:
        out = [self.pick(_LENGTHS) for _ in range(self.rng.integers(0, 5))]
        while prod(out) > 40_000:
            out[int(np.argmax(out))] //= 2
        if out and self.rng.random() < 0.03:
            out[-1] = 0
        return tuple(out)

    def dtype(self) -> np.dtype:
        return self.pick([FLOATS[0]] * 4 + FLOATS + INTS)

    def numbers(self, n: int, dtype: np.dtype) -> np.ndarray:
        rng = self.rng
        if dtype.kind in "iu":
            return rng.integers(-100 if dtype.kind == "i" else 0, 100, n).astype(dtype)
        if dtype == BOOL:
            return rng.random(n) < 0.5
        x = rng.normal(size=n) * 2
        if n and rng.random() < 0.2:
            x[rng.integers(0, n, max(n // 5, 1))] = self.pick([np.nan, np.inf, -np.inf, 0.0, -0.0])
        return x.astype(dtype)

    def window(self, space: tuple[int, ...], dtype: np.dtype) -> Ref:
        """Onto a new value with more room than the window shows."""
        rng = self.rng
        order = np.arange(len(space)) if rng.random() < 0.6 else rng.permutation(len(space))
        repeated = [rng.random() < 0.2 for _ in space]
        gaps = rng.random() < 0.3
        shown = [1 if r else n for n, r in zip(space, repeated, strict=True)]
        shape = [n + int(gaps and rng.integers(0, 2)) for n in shown]
        strides, step = [0] * len(space), 1
        for a in reversed(order.tolist()):
            strides[a], step = step, step * shape[a]
        offset = sum(int(rng.integers(0, m - n + 1)) * s for n, m, s in zip(shown, shape, strides, strict=True))
        value = Value((step,), dtype)
        self.memory.put(value, self.numbers(step, dtype))
        along = tuple(0 if r else s for s, r in zip(strides, repeated, strict=True))
        return Ref(value, space, along, offset if step else 0)

    def result(self, space: tuple[int, ...], dtype: np.dtype) -> Ref:
        """A new value of any order of axes."""
        order = self.rng.permutation(len(space)) if self.rng.random() < 0.3 else np.arange(len(space))
        strides, step = [0] * len(space), 1
        for a in reversed(order.tolist()):
            strides[a], step = step, step * space[a]
        return Value(space, dtype, tuple(strides)).ref()

    def leaf(self, space: tuple[int, ...], dtype: np.dtype) -> Expr:
        known = [x for x in self.leaves if x.dtype == dtype and x.data.shape == space]
        choice = self.rng.random()
        if known and choice < 0.4:
            return self.pick(known)
        if choice < 0.5:
            return const(int(self.rng.integers(1, 5)), dtype)
        if choice < 0.6 and space:
            return cast(index(int(self.rng.integers(len(space)))), dtype)
        self.leaves.append(load(self.window(space, dtype)))
        return self.leaves[-1]

    def expression(self, space: tuple[int, ...], dtype: np.dtype, depth: int) -> Expr:
        choice, floats = self.rng.random(), dtype.kind not in "iub"
        if depth == 0 or choice < 0.15:
            return self.leaf(space, dtype)
        if choice < 0.25:
            source = self.pick(FLOATS + INTS + [BOOL] if floats else INTS + [BOOL])
            return cast(self.expression(space, source, depth - 1), dtype)
        if dtype == BOOL:
            side = self.pick(FLOATS)
            return apply(self.pick(["lt", "eq", "ge", "ne"]), *(self.expression(space, side, depth - 1) for _ in "xy"))
        if choice < 0.5:
            return apply(self.pick(self.functions if floats else _INT_UNARY), self.expression(space, dtype, depth - 1))
        sides = [self.expression(space, dtype, depth - 1) for _ in "xy"]
        if choice < 0.6:
            return apply("where", self.expression(space, BOOL, depth - 1), *sides)
        return apply(self.pick(_FLOAT_BINARY if floats else _INT_BINARY), *sides)

    def loop(self, space: tuple[int, ...]) -> Loop:
        stores = []
        for _ in range(self.rng.integers(1, 4)):
            dtype = BOOL if self.rng.random() < 0.1 else self.dtype()
            stores.append(Store(self.result(space, dtype), self.expression(space, dtype, 3)))
        return Loop(space, stores)

    def reduction(self, space: tuple[int, ...]) -> Reduce:
        axes = tuple(i for i in range(len(space)) if self.rng.random() < 0.5)
        kind = self.pick(["sum", "sum", "sum", "max", "min", "argmax", "argmin", "any", "all", "prod"])
        dtype = self.dtype()
        if 0 in space and kind in ("max", "min", "argmax", "argmin"):
            kind = "sum"
        if kind in ("any", "all"):
            dtype = BOOL
        elif kind in ("sum", "prod") and dtype.itemsize == 2 and dtype not in INTS:
            dtype = FLOATS[0]  # NumPy's sums of short floats round at every step
        kept = tuple(n for i, n in enumerate(space) if i not in axes)
        result = Value(kept, np.int64 if kind.startswith("arg") else dtype)
        return Reduce(space, axes, kind, self.expression(space, dtype, 2), result)

    def nest(self, space: tuple[int, ...]) -> Nest:
        """y = (t - max t + 1) t + sum of (t - max t + 1), its parts local or not."""
        cut = len(space) if 0 in space else int(self.rng.integers(0, len(space)))
        outer, inner = space[:cut], space[cut:]
        dtype = self.pick([FLOATS[0], FLOATS[0], FLOATS[1], *INTS])
        axes = tuple(range(cut, len(space)))
        t, u, y = (Value(space, dtype) for _ in range(3))
        top, less, total = (Value(outer, dtype) for _ in range(3))
        place = Value(outer, np.int64)

        def repeat(v: Value) -> Expr:
            return load(Ref(v, space, v.strides + (0,) * len(inner), 0))

        one = const(1, dtype)
        stages: list[Loop | Reduce] = [
            Loop(space, [Store(t.ref(), self.expression(space, dtype, 2))]),
            Reduce(space, axes, "max", load(t.ref()), top),
            Loop(outer, [Store(less.ref(), apply("sub", load(top.ref()), one))]),
            Loop(space, [Store(u.ref(), apply("sub", load(t.ref()), repeat(less)))]),
            Reduce(space, axes, "sum", load(u.ref()), total),
            Reduce(space, axes, "argmin", load(u.ref()), place),
            Loop(space, [Store(y.ref(), apply("add", apply("mul", load(u.ref()), load(t.ref())), repeat(total)))]),
        ]
        if 0 in space:  # nothing has no first position
            del stages[5]
        local = {v for v in (t, u, top, less, total) if self.rng.random() < 0.5}
        return Nest(outer, inner, stages, local)


def disagreement(got: np.ndarray, want: np.ndarray, loose: bool) -> str:
    """Where two results differ by more than rounding, in words; empty where they agree."""
    if got.dtype.kind in "iub":
        same = got == want
    else:
        eps = float(ml_dtypes.finfo(got.dtype).eps)
        g, w = got.astype(np.float64), want.astype(np.float64)
        room = (np.abs(w) * 32 + 100) * eps
        if loose:  # sums: relative to the largest number
            room = 8 * room + np.max(np.where(np.isfinite(w), np.abs(w), 0), initial=0) * eps * 8
        with np.errstate(invalid="ignore"):
            same = (g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= room)
    wrong = np.flatnonzero(~same)
    return f"{len(wrong)} of {got.size} at {wrong[:5]}: {got[wrong[:5]]}, not {want[wrong[:5]]}" if len(wrong) else ""
