"""Multiply-adds of matrix products, convolutions, attention and recurrent layers, as they are called."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from math import prod
from typing import TYPE_CHECKING, Any

from ...core.dispatch.mode import hearing
from ..flop_counter import flops_of

if TYPE_CHECKING:
    from ...core.dispatch.op import Op

__all__ = ["counting"]

Shapes = dict[str, tuple[int, ...]]  # of the arrays that were given, by their names


def _attention(given: Shapes, out: tuple[int, ...]) -> int:
    return (prod(given["query"]) + prod(out)) * given["key"][-2]  # a causal mask saves nothing


def _recurrent(given: Shapes, out: tuple[int, ...]) -> int:
    return prod(given["input"][:-1]) * sum(prod(s) for name, s in given.items() if name.startswith("weight_"))


def _reduced(given: Shapes, out: tuple[int, ...]) -> int:
    return max(prod(shape) for shape in given.values())


def _outer(given: Shapes, out: tuple[int, ...]) -> int:
    return prod(out)


# what `flop_counter` leaves out, as torch does
_FORMULAS: dict[str, Callable[[Shapes, tuple[int, ...]], int]] = {
    "scaled_dot_product_attention": _attention,
    **{f"{kind}_layer{form}": _recurrent for kind in ("lstm", "gru", "rnn") for form in ("", ".packed", ".stack")},
    **dict.fromkeys(("dot", "vdot", "mv", "addmv"), _reduced),
    "matmul": lambda given, out: prod(given["input"]) if len(given["other"]) == 1 else 0,
    **dict.fromkeys(("outer", "addr"), _outer),
    "addbmm": lambda given, out: prod(given["batch1"]) * given["batch2"][-1],
    "_trilinear": lambda given, out: given["input1"][0] * (prod(given["weight"]) + prod(given["weight"][::2])),
    "_euclidean_dist": lambda given, out: prod(given["x1"]) * given["x2"][-2],
    "sparse_mm": lambda given, out: given["values"][0] * given["dense"][-1],
}


def _of_call(record: Op, tensors: tuple, result: Any) -> int:
    flops = flops_of(record, tensors, result)[1]
    if flops:
        return flops // 2
    formula = _FORMULAS.get(record.name)
    if formula is None:
        return 0
    shapes = {
        name: tuple(t.shape) for name, t in zip(record.signature.arrays, tensors, strict=False) if hasattr(t, "shape")
    }
    first = result[0] if isinstance(result, tuple) else result
    return formula(shapes, tuple(first.shape))


def counting(add: Callable[[int], object]) -> AbstractContextManager[None]:
    """A context in which `add` is called with the multiply-adds of each operator that this thread calls."""

    def hear(record: Op, tensors: tuple, metadata: tuple, result: Any) -> None:
        count = _of_call(record, tensors, result)
        if count:
            add(count)

    return hearing(hear)
