"""Results of all elements so far, each by a Scan along the dimension."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....core.tensor import dtype as dtypes
from ....core.tensor.layout import iinfo
from ....core.tensor.tensor import Tensor
from ..graph import Builder, Item, plain
from .pointwise import log_of_sum

__all__ = ["ROWS"]

_SMALL = (dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.uint8)  # ONNX compares integers of 32 bits and more


def _scan(
    g: Builder, name: str, dim: int, states: Sequence[tuple[str, dtypes.dtype]], made: int, step: Callable
) -> Any:
    """What is written along `dim` in the place of each element.

    `step(*states, element)` gives the states after an element, and then the `made` things to write, each of the dtype of
    the state in its place. states: for each what it is before the first element, and its dtype.
    """
    kinds = [kind for _, kind in states]
    body = g.body([*(("state", kind) for kind in kinds), ("element", kinds[0])], step, [*kinds, *kinds[:made]])
    axes = {"scan_input_axes": [dim], "scan_output_axes": [dim] * made}
    inputs = [*(start for start, _ in states), name]
    return g.several("Scan", inputs, len(kinds) + made, body=body, num_scan_inputs=1, **axes)[len(kinds) :]


def _start(g: Builder, x: Item, dim: int, value: Any, kind: dtypes.dtype) -> tuple[str, dtypes.dtype]:
    """A state: a number in the shape of `x` without the dimension."""
    number = g.constant(value, kind)
    sizes = [g.size_of(x, d) for d in range(x.value.ndim) if d != dim]
    if sizes:
        number = g.emit("Expand", number, sizes[0] if len(sizes) == 1 else g.emit("Concat", *sizes, axis=0))
    return number, kind


def folded(first: float, join: Callable) -> Callable:
    """A row of `cumprod` and `logcumsumexp`: `join(g, kind, total, element)` from `first` on."""

    def row(g: Builder, out: Tensor, x: Item, dim: Item, dtype: Item | None = None) -> str:
        name = g.name(x, out.dtype)
        if not x.value.ndim:
            return name
        at = plain(dim) % x.value.ndim
        states = [_start(g, x, at, first, out.dtype)]
        return _scan(g, name, at, states, 1, lambda *names: [join(g, out.dtype, *names)] * 2)[0]

    return row


def extreme(most: bool) -> Callable:
    """A row of `cummax` and `cummin`: of equal elements the last one; from a NaN on, NaN."""
    compare = "GreaterOrEqual" if most else "LessOrEqual"

    def row(g: Builder, out: Any, x: Item, dim: Item) -> list[str]:
        kind = x.value.dtype
        if not x.value.ndim:
            return [g.name(x), g.constant(0)]
        own = dtypes.int32 if kind in _SMALL else kind

        def step(best: str, place: str, count: str, element: str) -> list[str]:
            taken = g.emit(compare, element, best)
            if own.is_floating_point:
                taken = g.emit("Or", taken, g.emit("IsNaN", element))
            best, place = g.emit("Where", taken, element, best), g.emit("Where", taken, count, place)
            return [best, place, g.emit("Add", count, g.constant(1)), best, place]

        at = plain(dim) % x.value.ndim
        states = [_start(g, x, at, _before_all(own, most), own), _start(g, x, at, 0, dtypes.int64)]
        states.append((g.constant(0), dtypes.int64))
        best, place = _scan(g, g.name(x, own), at, states, 2, step)
        return [best if own is kind else g.cast(best, kind), place]

    return row


def _before_all(kind: dtypes.dtype, most: bool) -> Any:
    if kind.is_floating_point:
        return float("-inf") if most else float("inf")
    return iinfo(kind).min if most else iinfo(kind).max


ROWS: dict[str, Callable] = {
    "cumprod": folded(1, lambda g, kind, a, b: g.emit("Mul", a, b)), "logcumsumexp": folded(float("-inf"), log_of_sum),
    "cummax": extreme(True), "cummin": extreme(False),
}  # fmt: skip
