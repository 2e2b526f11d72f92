"""What layers that take one step after the other have in common: arrays that steps write part by part, and states.

Each step's products and loops come in the graph one after the other. What they write are rows of arrays over all
steps, so that the products for the weights and the input are one each.

A state has a row for each sequence. Of packed sequences the first ones run longest: a step takes and replaces the first
rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend.onednn.matmul import SMALL_MULTIPLY_ADDS
from ...ops.recurrent.layers import step_spans
from ..ir.expression import cast
from ..ir.graph import Call, Loop, Ref, Store, Value
from ..ir.lazy import Builder, Lazy, Untraceable
from .product import product, rows

_TYPES = ("float32", "float64")
_PROJECTION = 7  # the operand, of forward and backward
Span = tuple[int, int]


class Table:
    """An array (rows, columns) that is written part by part."""

    def __init__(self, b: Builder, value: Value):
        self.b, self.value = b, value

    @classmethod
    def blank(cls, b: Builder, n: int, columns: int, dtype: np.dtype) -> Table:
        return cls(b, b.undefined((n, columns), dtype))

    def window(self, span: Span, columns: slice = slice(None)) -> Ref:
        """The rows of a span, and some columns."""
        width = self.value.shape[1]
        start, stop, _ = columns.indices(width)
        return Ref(self.value, (span[1] - span[0], stop - start), (width, 1), span[0] * width + start)

    def part(self, span: Span, columns: slice = slice(None)) -> Lazy:
        """What is there now."""
        return self.b.lazy(self.window(span, columns))

    def target(self, span: Span, x: Lazy, columns: slice = slice(None)) -> Store:
        """A store into a part; the table is that of after it."""
        old, self.value = self.value, Value(self.value.shape, self.value.dtype)
        window = self.window(span, columns)
        return Store(window, cast(x.expr, old.dtype), None if window.covers() else old)

    def put(self, span: Span, x: Lazy) -> None:
        """Write a span."""
        self.b.nodes.append(Loop(x.shape, [self.target(span, x)]))

    def whole(self) -> Lazy:
        return self.b.lazy(self.value.ref())


def stored(b: Builder, x: Lazy) -> Lazy:
    """`x` computed once, whoever reads it."""
    return b.lazy(b.store(x))


def state(b: Builder, first: Lazy) -> Table:
    """A state that begins as `first`."""
    return Table(b, b.store(first).value)


def with_top(b: Builder, x: Lazy, top: Lazy) -> Lazy:
    """`x` with its first rows replaced."""
    if x.shape == top.shape:
        return top
    table = state(b, x)
    table.put((0, top.shape[0]), top)
    return table.whole()


def spans_of(input: Lazy, batch: int, batch_sizes: Any, reverse: bool, *arrays: Lazy | None) -> list[Span]:
    """The first and last row of each step, in the order of the layer's steps; arrays: what else it reads."""
    if not input.size or any(a is not None and a.dtype != input.dtype for a in arrays):
        raise Untraceable("a recurrent layer of empty tensors or mixed dtypes")
    if input.dtype.name not in _TYPES:
        raise Untraceable(f"a recurrent layer of {input.dtype}")
    return step_spans(rows(input).shape[0], batch, batch_sizes, reverse)


def steps_in(call: Call) -> int:
    """How many steps an LSTM's call takes, if it projects: then the rule writes each out."""
    if len(call.operands) <= _PROJECTION or call.operands[_PROJECTION] is None:
        return 0
    sizes = next((m for m in call.metadata if isinstance(m, tuple | list) and m and type(m[0]) is int), None)
    first = call.operands[0]
    return len(sizes) if sizes is not None else first.shape[0] if isinstance(first, Ref) else 0


def of_span(x: Lazy, span: Span, columns: slice = slice(None)) -> Lazy:
    """A step's rows of an array over all steps."""
    return x[slice(*span), columns]


def parts(width: int, n: int) -> list[slice]:
    """The columns of each of n gates."""
    return [slice(i * width, (i + 1) * width) for i in range(n)]


def columns(b: Builder, weight: Lazy, steps: int, batch: int) -> Lazy:
    """The transposed weight, laid out C-contiguous where that is worth a pass over it.

    20 steps of (8, 64) @ (64, 192) by OpenBLAS take twice as long with the transposed view. One row does not, and large
    ones are oneDNN's, which packs a weight as it is stored, and once for many calls if nothing writes it.
    """
    small = weight.size * batch < SMALL_MULTIPLY_ADDS or weight.dtype == np.float64
    return stored(b, weight.T) if steps > 4 and batch > 1 and small else weight.T


def input_share(b: Builder, input: Lazy, weight: Lazy, *biases: Lazy | None) -> Lazy:
    """input @ weight^T + biases, for the rows of all steps."""
    summands = [bias for bias in biases if bias is not None]
    bias = stored(b, summands[0] + summands[1]) if len(summands) == 2 else summands[0] if summands else None
    return product(b, rows(input), weight.T, bias)


def begin(b: Builder, g: Lazy | None, shape: tuple[int, int], dtype: np.dtype) -> Lazy:
    """The gradient of a final state, zeros if there is none."""
    return b.constant(0, dtype, shape) if g is None else g


def gradients(
    b: Builder, needs: Sequence[bool], k_in: Lazy, k_rec: Lazy, input: Lazy, weight_ih: Lazy, hs: Lazy,
    states: Sequence[Lazy], *more: Callable[[], Lazy],
) -> tuple:  # fmt: skip
    """The gradients wanted of a layer's arrays, from those of the gates with respect to the input's and state's shares.

    states: the gradients of the initial state; more: functions for further parameters.
    """
    sums: dict[int, Lazy] = {}

    def summed(k: Lazy) -> Lazy:
        if id(k) not in sums:
            sums[id(k)] = stored(b, k.sum(0))
        return sums[id(k)]

    makers = (
        lambda: product(b, k_in, weight_ih).reshape(input.shape),
        *(lambda g=g: g for g in states),
        lambda: product(b, k_in.T, rows(input)),
        lambda: product(b, k_rec.T, hs),
        lambda: summed(k_in),
        lambda: summed(k_rec),
        *more,
    )
    return tuple(make() for make, wanted in zip(makers, needs, strict=False) if wanted)
