"""Writes to places that may repeat: what falls on one place is put together there, in the order in which it comes.

On raw arrays. A ufunc's `at` takes 2 ns an element where array, places and values are vectors, and ten times as long
with more dimensions or several indices; so places become numbers of elements, a block of them at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.dispatch.extension_points import combine_repeated
from ..pointwise.checks import extremes

__all__ = ["add_at", "combine_at"]

_BLOCK = 1 << 16  # elements whose numbers are worked out at a time: a block's stay in the cache
UFUNCS = {
    "add": np.add,
    "multiply": np.multiply,
    "sum": np.add,
    "mean": np.add,
    "prod": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}

_WIDE = 512  # from as many elements on, a row is added by a call of its own


def add_at(out: np.ndarray, where: tuple, values: Any, is_checked: bool = False) -> None:
    """out[where] += values, in which repeated places count each time."""
    combine_at(np.add, out, where, values, is_checked)


def combine_at(how: Any, out: np.ndarray, where: tuple, values: Any, is_checked: bool = False) -> None:
    """out[where] = how(out[where], values), one place after the other; `how` is a ufunc of two operands.

    is_checked: whether all places are known to be in [0, n). Raises IndexError for places outside.
    """
    values = np.asarray(values, out.dtype)
    if len(where) == 1 and isinstance(where[0], np.ndarray) and where[0].dtype.kind == "b":
        out[where] = how(out[where], values)  # no place comes twice
        return
    if not out.ndim or not all(isinstance(w, np.ndarray) and w.dtype.kind in "iu" for w in where):
        how.at(out, where, values)
        return
    whole = np.ascontiguousarray(out)
    combine = combine_repeated.value
    if combine is not None and combine(how.__name__, whole, where, values):
        if whole is not out and not np.shares_memory(whole, out):
            out[...] = whole
        return
    rows = _row_numbers(where, out.shape, is_checked)
    rest = out.shape[len(where) :]
    if values.shape != (*rows.shape, *rest):
        values = np.broadcast_to(values, (*rows.shape, *rest))
    if not values.size:
        return
    if rest:
        _combine_rows(how, whole.reshape(-1, *rest), rows.reshape(-1), values.reshape(rows.size, -1))
    else:
        how.at(whole.reshape(-1), rows.reshape(-1), values.reshape(-1))
    if whole is not out and not np.shares_memory(whole, out):
        out[...] = whole


def _row_numbers(where: tuple, shape: tuple[int, ...], is_checked: bool) -> np.ndarray:
    rows: Any = None
    for w, n in zip(where, shape, strict=False):
        if w.size and not is_checked:
            smallest, largest = extremes(w)
            if smallest < -n or largest >= n:
                raise IndexError(f"index out of bounds for a dimension of size {n}")
            if smallest < 0:
                w = np.where(w < 0, w + n, w)
        rows = w if rows is None else rows * n + w
    return np.asarray(rows, np.intp)


def _combine_rows(how: Any, out: np.ndarray, rows: np.ndarray, values: np.ndarray) -> None:
    width = values.shape[1]
    if width >= _WIDE:
        lines = out.reshape(-1, width)
        for row, value in zip(rows.tolist(), values, strict=True):
            how(lines[row], value, out=lines[row])
        return
    flat, lanes, step = out.reshape(-1), np.arange(width), max(1, _BLOCK // width)
    for first in range(0, len(rows), step):
        numbers = rows[first : first + step, None] * width + lanes
        how.at(flat, numbers.reshape(-1), values[first : first + step].reshape(-1))
