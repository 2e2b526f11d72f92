"""Strides in elements, of arrays and of tensors, those of empty ones included; matrices stored column by column.

LAPACK gives such matrices, and torch returns them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "dense_order",
    "element_strides",
    "in_columns",
    "new_element_strides",
    "new_strides",
    "return_columns",
    "strides_of",
]


def element_strides(a: np.ndarray) -> tuple[int, ...]:
    """The strides of `a` in elements; those of a new empty array as if its empty dimensions had one element, as in torch."""
    if not a.size and not any(a.strides):
        return new_element_strides(a.shape)
    size = a.itemsize
    strides = [s // size for s in a.strides]
    if 0 in strides:  # NumPy gives a new axis of one element stride 0, torch that of the axis after it
        for i in range(a.ndim - 1, -1, -1):
            if not strides[i] and a.shape[i] == 1:
                strides[i] = a.shape[i + 1] * strides[i + 1] if i + 1 < a.ndim else 1
    return tuple(strides)


def dense_order(a: np.ndarray) -> list[int] | None:
    """The dimensions from the outermost one in memory to the innermost, if no gaps are between the elements.

    A new array with its dimensions in this order has the strides of `a`. None also for those of a new array of its shape.
    """
    if a.flags.c_contiguous and (1 not in a.shape or element_strides(a) == new_element_strides(a.shape)):
        return None
    order = sorted(range(a.ndim), key=lambda i: (-a.strides[i], a.shape[i] == 1))
    return order if a.transpose(order).flags.c_contiguous else None


def strides_of(t: Any) -> tuple[int, ...]:
    """The strides of a tensor in elements. Those of an empty view come from its base's, which NumPy has not kept."""
    a = t._array
    return element_strides(a if a.size or t._view is None else _with_strides(t))


def new_strides(a: np.ndarray) -> np.ndarray:
    """An empty array with the strides of a new one of its shape, which NumPy has as 0; any other array itself."""
    if a.size or any(a.strides) or type(a) is not np.ndarray:
        return a
    return np.lib.stride_tricks.as_strided(a, strides=[s * a.itemsize for s in new_element_strides(a.shape)])


def _with_strides(t: Any) -> np.ndarray:
    """The array of an empty tensor, made from its base by the views between them, each with strides of torch's."""
    a = t._array
    if a.size or any(a.strides) or t._view is None or type(a) is not np.ndarray:
        return new_strides(a)
    parent, op, arguments, _ = t._view
    if op.outputs is None:
        return op.invoke(op.kernel, [_with_strides(parent)], arguments)
    return op.invoke(op.kernel, [_with_strides(parent)], arguments[:-1])[arguments[-1]]


def new_element_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a new tensor of that shape, in elements: an empty dimension counts as one element."""
    strides, n = [], 1
    for k in reversed(shape):
        strides.append(n)
        n *= max(k, 1)
    return tuple(reversed(strides))


def in_columns(a: np.ndarray) -> np.ndarray:
    """An array (*, m, n) with the strides (..., 1, m) in its last two dimensions: a copy unless it has them."""
    if a.ndim < 2:
        return a
    rows = a.swapaxes(-1, -2)
    return (rows if rows.flags.c_contiguous else rows.copy(order="C")).swapaxes(-1, -2)


def return_columns(kernel: Callable, positions: tuple[int, ...]) -> Callable:
    """`kernel`, whose results at these positions are matrices in column order."""

    def by_columns(*arguments: Any, **metadata: Any) -> Any:
        r = kernel(*arguments, **metadata)
        if type(r) is not tuple:
            return in_columns(r)
        return tuple([in_columns(x) if i in positions else x for i, x in enumerate(r)])

    by_columns.__name__, by_columns.__doc__ = getattr(kernel, "__name__", ""), kernel.__doc__
    return by_columns
