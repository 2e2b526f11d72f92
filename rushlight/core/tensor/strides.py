"""Strides in elements, of arrays and of tensors, those of empty ones included; those of results; matrices in columns.

LAPACK gives matrices that are stored column by column, and torch returns them. The memory of a result of several operands
follows torch's rules for operators of each element, those of its TensorIterator. Operands of one shape that are all contiguous,
all channels-last, or all of the same strides without gaps give theirs to the result. Otherwise the dimensions are sorted by
the operands' strides, those of one element among them, and the result is dense in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = [
    "broadcast_strides",
    "dense_order",
    "dense_strides",
    "element_strides",
    "in_columns",
    "innermost_first",
    "new_element_strides",
    "new_strides",
    "ordered",
    "ordered_among",
    "ordered_as_all",
    "ordered_by_strides",
    "result_strides",
    "return_columns",
    "strides_of",
    "with_strides",
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
    rows = rows if rows.flags.c_contiguous else rows.copy(order="C")
    if 1 in rows.shape:  # along which NumPy's strides may be any
        rows = rows.reshape(-1).reshape(rows.shape)
    return rows.swapaxes(-1, -2)


def return_columns(kernel: Callable, positions: tuple[int, ...]) -> Callable:
    """`kernel`, whose results at these positions are matrices in column order."""

    def by_columns(*arguments: Any, **metadata: Any) -> Any:
        r = kernel(*arguments, **metadata)
        if type(r) is not tuple:
            return in_columns(r)
        return tuple([in_columns(x) if i in positions else x for i, x in enumerate(r)])

    by_columns.__name__, by_columns.__doc__ = getattr(kernel, "__name__", ""), kernel.__doc__
    return by_columns


# ---------------------------------------------------------------------------------------------- the memory of a result

_KEPT = 4096
_results: dict[tuple, tuple[int, ...]] = {}  # by all that the strides of a result follow from


def ordered(r: np.ndarray, first: np.ndarray, second: Any = None) -> np.ndarray:
    """A fresh result of one or two operands, the second an array or a number, in the memory that torch gives to it."""
    if r.strides == first.strides and 1 not in (shape := r.shape) and shape == first.shape:
        return r  # the first operand distinguishes all dimensions, and a fresh result repeats none
    if second is None:
        return ordered_as_all(r, [first])
    is_array = isinstance(second, np.ndarray)
    if not any(first.strides) and r.flags.c_contiguous and (not is_array or second.flags.c_contiguous):
        return r  # 0.4 us: the gradients of sums are one number, repeated
    return ordered_as_all(r, [first, second] if is_array else [first], alike=is_array)


def ordered_among(r: Any, operands: Sequence[Any]) -> Any:
    """A fresh result of operands that are arrays, numbers or None, in the memory that torch gives to it."""
    if not isinstance(r, np.ndarray) or r.ndim < 2:
        return r
    for a in operands:
        if isinstance(a, np.ndarray) and not a.flags.c_contiguous:
            break
    else:
        return r  # C-contiguous, as NumPy makes it
    arrays = [a for a in operands if isinstance(a, np.ndarray)]
    numbers = len(operands) - len(arrays) - sum(a is None for a in operands)
    return ordered_as_all(r, arrays, alike=not numbers)


def ordered_as_all(r: np.ndarray, operands: Sequence[np.ndarray], alike: bool = True) -> np.ndarray:
    """A fresh result of operands that are broadcast, in the memory that torch gives to it.

    alike: whether operands of one shape are all there are; False where a number is another one.
    """
    if type(r) is not np.ndarray:
        return ordered_by_strides(r, [broadcast_strides(a, r.shape) for a in operands])
    shape = r.shape
    if r.flags.c_contiguous and all(a.flags.c_contiguous and a.shape == shape for a in operands) and 1 not in shape:
        return r
    if not r.size:
        return r
    key = (shape, alike, *[(a.shape, a.strides, a.itemsize) for a in operands])
    strides = _results.get(key)
    if strides is None:
        strides = _keep(key, result_strides(r.shape, [(a.shape, element_strides(a)) for a in operands], alike))
    return with_strides(r, strides)


def ordered_by_strides(r: np.ndarray, operands: Sequence[list[int]]) -> np.ndarray:
    """A fresh result of operands that step along its dimensions so far, in the order in memory that torch gives to it."""
    order = innermost_first(r.shape, [*operands])[::-1]
    if type(r) is np.ndarray:
        return with_strides(r, _dense(r.shape, order)) if r.size else r
    if r.transpose(order).flags.c_contiguous:
        return r
    laid = np.empty([r.shape[i] for i in order], r.dtype, like=r)  # on meta, no memory
    laid = laid.transpose(np.argsort(order))
    laid[...] = r
    return laid


_Operand = tuple[tuple[int, ...], tuple[int, ...]]


def result_strides(shape: tuple[int, ...], operands: Sequence[_Operand], alike: bool = True) -> tuple[int, ...]:
    """The strides of a result in elements, given its shape, and the shapes and strides of its operands."""
    if alike and all(own == shape for own, _ in operands):
        rows, strides = new_element_strides(shape), operands[0][1]
        if all(_agree(shape, s, rows) for _, s in operands):
            return rows
        if len(shape) == 4:
            channels_last = _dense(shape, [0, 2, 3, 1])
            if all(_agree(shape, s, channels_last) for _, s in operands):
                return channels_last
        if all(s == strides for _, s in operands) and _is_dense(shape, strides):
            return strides
    steps = []
    for own, strides in operands:
        missing = len(shape) - len(own)
        moved = [0 if n == 1 and m != 1 else s for n, m, s in zip(own, shape[missing:], strides, strict=True)]
        steps.append([0] * missing + moved)
    return _dense(shape, innermost_first(shape, steps)[::-1])


def dense_strides(a: np.ndarray) -> tuple[int, ...]:
    """The strides of a copy of `a`, in elements: its own if there are no gaps between its elements."""
    key = (a.shape, a.strides, a.itemsize)
    known = _results.get(key)
    if known is not None:
        return known
    shape, strides = a.shape, element_strides(a)
    is_dense = not a.size or _is_dense(shape, strides)
    return _keep(key, strides if is_dense else _dense(shape, innermost_first(shape, [strides])[::-1]))


def _keep(key: tuple, strides: tuple[int, ...]) -> tuple[int, ...]:
    if len(_results) >= _KEPT:
        _results.clear()
    _results[key] = strides
    return strides


def _agree(shape: tuple[int, ...], strides: tuple[int, ...], others: tuple[int, ...]) -> bool:
    """Whether strides move by the same steps: those of one element move nothing."""
    return all(n == 1 or s == t for n, s, t in zip(shape, strides, others, strict=True))


def _is_dense(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether no two elements share a place and no gaps are between them."""
    step = 1
    for s, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        if s != step:
            return False
        step *= n
    return True


def _dense(shape: tuple[int, ...], order: Sequence[int]) -> tuple[int, ...]:
    """The strides of a new array with its dimensions in this order in memory, outermost first."""
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def with_strides(r: np.ndarray, strides: tuple[int, ...]) -> np.ndarray:
    """The elements of `r` in memory with these strides, given in elements, without gaps: `r` itself where it is so."""
    size = r.itemsize
    wanted = tuple([s * size for s in strides])
    if r.strides == wanted:
        return r
    shape = r.shape
    order = sorted(range(r.ndim), key=lambda i: (-strides[i], shape[i] == 1))
    rows = r.transpose(order)
    if not rows.flags.c_contiguous:
        rows = rows.copy("C")
    laid = rows.reshape(-1).reshape(rows.shape).transpose(sorted(range(r.ndim), key=order.__getitem__))
    return laid if laid.strides == wanted else np.lib.stride_tricks.as_strided(laid, strides=wanted)


def broadcast_strides(a: np.ndarray, shape: tuple[int, ...]) -> list[int]:
    """The strides of an operand in the shape that it is broadcast to, 0 where it repeats its elements."""
    first = len(shape) - a.ndim
    own = [s if n == m else 0 for s, n, m in zip(a.strides, a.shape, shape[first:], strict=True)]
    return [0] * first + own


def innermost_first(shape: tuple[int, ...], operands: list[Any]) -> list[int]:
    """The dimensions by the operands' strides, as torch sorts them: by insertion, from the last one on.

    The first operand that steps along both of two dimensions decides; a stride of 0 moves nothing.
    """
    order = list(range(len(shape)))[::-1]
    for end in range(1, len(shape)):
        here = end
        for before in range(end - 1, -1, -1):
            x, y = order[before], order[here]
            longer = _steps_farther(x, y, shape, operands)
            if longer:
                order[before], order[here] = y, x
                here = before
            elif longer is not None:
                break
    return order


def _steps_farther(x: int, y: int, shape: tuple[int, ...], operands: list[Any]) -> bool | None:
    """Whether dimension x has longer steps than y; None where no operand tells."""
    for strides in operands:
        if not strides[x] or not strides[y]:
            continue
        if strides[x] != strides[y]:
            return strides[x] > strides[y]
        if shape[x] > shape[y]:
            return True
    return None
