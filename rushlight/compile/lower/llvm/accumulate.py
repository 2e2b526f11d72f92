"""Accumulators of reductions: their types, neutral elements, and how two of them become one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from . import arithmetic, vector_math
from .ir import BITS, Builder, Val, number

UNSET = (1 << 63) - 1


class Partial(NamedTuple):
    """What has been reduced so far: a number and, for argmax and argmin, its position."""

    value: Val
    position: Val | None = None


class Accumulator:
    """One reduction's arithmetic. `source` is the expression's type, `target` the result's."""

    def __init__(self, kind: str, source: np.dtype, target: np.dtype):
        self.kind, self.source, self.target = kind, source, target
        self.positions = kind.startswith("arg")
        self.type = source if self.positions else np.dtype(bool) if kind in ("any", "all") else target
        self.elem = arithmetic.register(self.type)
        self.floats = arithmetic.is_float(self.type)
        # partial sums of float32 are gathered in double: long sums stay as exact as NumPy's pairwise ones
        self.total = "double" if kind == "sum" and self.floats else self.elem

    def neutral(self, elem: str) -> Val:
        """What changes nothing when it is combined."""
        return number(self.neutral_number(), elem)

    def neutral_number(self) -> float | int:
        if self.kind in ("sum", "any"):
            return 0
        if self.kind in ("prod", "all"):
            return 1
        largest = self.kind in ("min", "argmin")
        if self.floats:
            return math.inf if largest else -math.inf
        if self.elem == "i1":
            return int(largest)
        if self.type.kind == "u":
            return (1 << BITS[self.elem]) - 1 if largest else 0
        half = 1 << (BITS[self.elem] - 1)
        return half - 1 if largest else -half

    def prepare(self, b: Builder, x: Val) -> Val:
        """The expression's number in the accumulator's type."""
        return x if self.source == self.type else arithmetic.cast(b, x, self.source, self.type)

    def combine(self, b: Builder, x: Partial, y: Partial) -> Partial:
        if self.positions:
            return self._better(b, x, y)
        return Partial(self._combine(b, x.value, y.value))

    def _combine(self, b: Builder, x: Val, y: Val) -> Val:
        if self.kind == "sum":
            return b.op("fadd reassoc contract" if self.floats else "or" if x.elem == "i1" else "add", x, y)
        if self.kind == "prod":
            return b.op("fmul reassoc contract" if self.floats else "and" if x.elem == "i1" else "mul", x, y)
        if self.kind in ("any", "all"):
            return b.op("or" if self.kind == "any" else "and", x, y)
        return arithmetic.operate(b, "maximum" if self.kind == "max" else "minimum", [x, y], self.type, self.type)

    def _better(self, b: Builder, x: Partial, y: Partial) -> Partial:
        """The larger (smaller) number; the first nan before all others; among equals the first position."""
        word = "gt" if self.kind == "argmax" else "lt"
        if self.floats:
            nan_x, nan_y = vector_math.is_nan(b, x.value), vector_math.is_nan(b, y.value)
            better = b.op(
                "and", b.op("xor", nan_x, True), b.op("or", b.compare(f"fcmp o{word}", y.value, x.value), nan_y)
            )
            equal = b.op("or", b.compare("fcmp oeq", x.value, y.value), b.op("and", nan_x, nan_y))
        else:
            sign = "s" if self.type.kind == "i" else "u"
            better = b.compare(f"icmp {sign}{word}", y.value, x.value)
            equal = b.compare("icmp eq", x.value, y.value)
        assert x.position is not None and y.position is not None
        earlier = b.op("and", equal, b.compare("icmp slt", y.position, x.position))
        take = b.op("or", better, earlier)
        return Partial(b.select(take, y.value, x.value), b.select(take, y.position, x.position))

    def masked(self, b: Builder, mask: Val | None, new: Partial, old: Partial) -> Partial:
        """`new` in the lanes that count, `old` in the others."""
        if mask is None:
            return new
        position = None if new.position is None else b.select(mask, new.position, old.position)
        return Partial(b.select(mask, new.value, old.value), position)

    def horizontal(self, b: Builder, x: Partial) -> Partial:
        """All lanes combined, by halves."""
        width = x.value.lanes
        while width > 1:
            width //= 2
            x = self.combine(b, self._half(b, x, 0, width), self._half(b, x, width, width))
        if not x.value.lanes:
            return x
        return Partial(b.extract(x.value, 0), None if x.position is None else b.extract(x.position, 0))

    def _half(self, b: Builder, x: Partial, start: int, width: int) -> Partial:
        position = None if x.position is None else _slice(b, x.position, start, width)
        return Partial(_slice(b, x.value, start, width), position)

    def widen(self, b: Builder, x: Partial) -> Partial:
        """As a total."""
        if x.value.elem == self.total:
            return x
        return Partial(b.convert("fpext", x.value, self.total), x.position)

    def result(self, b: Builder, x: Partial) -> Val:
        """What the reduction stores, from a total."""
        if self.positions:
            assert x.position is not None
            return (
                x.position
                if self.target == np.int64
                else arithmetic.cast(b, x.position, np.dtype(np.int64), self.target)
            )
        value = x.value if x.value.elem == self.elem else b.convert("fptrunc", x.value, self.elem)
        if self.type != self.target:
            return arithmetic.cast(b, value, self.type, self.target)
        return arithmetic.rounded(b, value, self.target)


class Slot:
    """A partial on the stack."""

    def __init__(self, b: Builder, reduction: Accumulator, elem: str, lanes: int):
        self.reduction, self.elem, self.lanes = reduction, elem, lanes
        self.value = b.alloca(elem, lanes)
        self.position = b.alloca("i64", lanes) if reduction.positions else None

    def reset(self, b: Builder) -> None:
        b.put(self.value, _spread(b, self.reduction.neutral(self.elem), self.lanes))
        if self.position:
            b.put(self.position, _spread(b, number(UNSET, "i64"), self.lanes))

    def get(self, b: Builder) -> Partial:
        position = b.get(self.position, "i64", self.lanes) if self.position else None
        return Partial(b.get(self.value, self.elem, self.lanes), position)

    def put(self, b: Builder, x: Partial) -> None:
        b.put(self.value, _spread(b, x.value, self.lanes))
        if self.position:
            assert x.position is not None
            b.put(self.position, _spread(b, x.position, self.lanes))

    def add(self, b: Builder, x: Partial, mask: Val | None = None) -> None:
        old = self.get(b)
        x = Partial(_spread(b, x.value, self.lanes), None if x.position is None else _spread(b, x.position, self.lanes))
        self.put(b, self.reduction.masked(b, mask, self.reduction.combine(b, old, x), old))


def _spread(b: Builder, x: Val, lanes: int) -> Val:
    return b.splat(x, lanes) if lanes else x


def _slice(b: Builder, x: Val, start: int, width: int) -> Val:
    return b.shuffle(x, x, range(start, start + width))
