"""Memory for a result whose elements lie as those of another array."""

from __future__ import annotations

from typing import Any

import numpy as np


def dense_like(a: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Uninitialised elements in the shape of `a`, its dimensions in the same order in memory, without gaps.

    Where `a` repeats elements (a stride of 0), the order is torch's: such a dimension stays between its neighbours.
    NumPy would make it the innermost one.
    """
    if 0 not in a.strides:
        return np.empty_like(a, dtype=dtype, subok=False)
    order = _innermost_first(a)[::-1]
    out = np.empty([a.shape[dim] for dim in order], a.dtype if dtype is None else dtype)
    return out.transpose(sorted(range(a.ndim), key=order.__getitem__))


def cast_like(a: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`a.astype(dtype)`, in the memory of `dense_like`."""
    if 0 not in a.strides:
        return a.astype(dtype)
    out = dense_like(a, dtype)
    np.copyto(out, a, "unsafe")
    return out


def _innermost_first(a: np.ndarray) -> list[int]:
    """The dimensions by stride, as torch sorts them: by insertion, from the last one on; a stride of 0 moves nothing."""
    order = list(range(a.ndim))[::-1]
    for end in range(1, a.ndim):
        here = end
        for before in range(end - 1, -1, -1):
            x, y = order[before], order[here]
            if not a.strides[x] or not a.strides[y]:
                continue
            if a.strides[x] < a.strides[y]:
                break
            if a.strides[x] > a.strides[y] or a.shape[x] > a.shape[y]:
                order[before], order[here] = y, x
                here = before
    return order
