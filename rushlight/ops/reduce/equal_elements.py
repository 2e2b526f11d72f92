"""Where equal elements end up: torch's sort, topk and kthvalue leave them as the algorithms of `selection.py` do.

Those run where there are equal elements, or a result without an order; NumPy's are quicker everywhere else.
"""

from __future__ import annotations

import numpy as np

from ...core.dispatch.extension_points import select_places
from .selection import KTH, SORT, TOP, TOP_UNSORTED

__all__ = ["expects_equal", "kth_place", "settled", "sorted_places", "sorts_as_torch", "top_places"]

_STABLE = 16  # elements: up to so many std::sort inserts, and keeps the order of equal ones
_BY_DIGITS = 1 << 15  # elements of one dimension: of so many torch sorts whole numbers by digits, which keeps it, too
_MANY = 1 << 14  # float32 numbers: of so many normal ones some are equal


def _keys(lines: np.ndarray, descending: bool) -> np.ndarray:
    """int64 numbers in the order of the elements, nan the greatest. Shape: (rows, n) -> (rows, n), its own memory"""
    kind = lines.dtype.kind
    if kind in "iub":
        keys = (
            (lines ^ lines.dtype.type(1 << 63)).view(np.int64) if lines.dtype == np.uint64 else lines.astype(np.int64)
        )
    else:
        values = lines.astype(np.float64) + 0.0  # -0.0 becomes 0.0, its equal
        keys = values.view(np.int64)
        keys ^= (keys >> 63) & np.int64(0x7FFFFFFFFFFFFFFF)
        keys[np.isnan(values)] = np.iinfo(np.int64).max
    return np.ascontiguousarray(~keys if descending else keys)


def _places(lines: np.ndarray, k: int, how: int, descending: bool) -> np.ndarray | None:
    """Where the elements come from that torch leaves at each place (rows, n); None where that would take too long."""
    run = select_places.value
    rows, n = lines.shape
    places = np.empty((rows, n), np.int64)
    places[...] = np.arange(n)
    if run is None or not run(_keys(lines, descending), places, rows, n, k, how):
        return None
    return places


def _as_lines(a: np.ndarray, dim: int) -> np.ndarray:
    """The elements along `dim` as rows; float32 for types without comparisons."""
    a = a.astype(np.float32) if a.dtype.kind == "V" else a
    last = a if dim == a.ndim - 1 else np.moveaxis(a, dim, -1)
    return last.reshape(-1, a.shape[dim])


def _as_array(rows: np.ndarray, shape: tuple[int, ...], dim: int) -> np.ndarray:
    """Rows as an array with their elements along `dim`, of the other sizes of `shape`."""
    return np.moveaxis(rows.reshape(*shape[:dim], *shape[dim + 1 :], -1), -1, dim)


def sorts_as_torch(a: np.ndarray, dim: int, descending: bool) -> bool:
    """Whether equal elements of `a` may end up elsewhere than where a sort that keeps their order has them."""
    n = a.shape[dim]
    by_digits = a.ndim == 1 and n >= _BY_DIGITS and a.dtype.kind in "iu" and not descending
    return type(a) is np.ndarray and n > _STABLE and not by_digits and bool(a.size)


def expects_equal(a: np.ndarray, dim: int) -> bool:
    """Whether there are equal elements along `dim` in all likelihood."""
    return a.dtype.kind in "iub" or a.dtype.itemsize < 4 or a.dtype.itemsize == 4 and a.shape[dim] >= _MANY


def settled(a: np.ndarray, order: np.ndarray, values: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """`order`, which sorts `a` into `values` along `dim`, with the equal elements of each row where torch's sort has them."""
    lines, ordered = _as_lines(a, dim), _as_lines(values, dim)
    equal = (ordered[:, 1:] == ordered[:, :-1]).any(1)
    if ordered.dtype.kind == "f":  # two nans are equal, too
        equal |= np.isnan(ordered[:, 1 if descending else -2])
    if not equal.any():
        return order
    places = _places(lines if equal.all() else lines[equal], 0, SORT, descending)
    if places is None:
        return order
    rows = _as_lines(order, dim).copy()
    rows[equal] = places
    return _as_array(rows, a.shape, dim)


def sorted_places(a: np.ndarray, dim: int, descending: bool) -> np.ndarray | None:
    """Where the elements come from in torch's sort along `dim`; None where that would take too long."""
    places = _places(_as_lines(a, dim), 0, SORT, descending)
    return None if places is None else _as_array(places, a.shape, dim)


def top_places(a: np.ndarray, best: np.ndarray, dim: int, largest: bool, is_sorted: bool) -> np.ndarray | None:
    """Where torch finds the k best elements of `a` along `dim`; None where that is where a stable sort finds them.

    best: these elements, the best first.
    """
    k, n = best.shape[dim], a.shape[dim]
    if type(a) is not np.ndarray or not best.size:
        return None
    lines = _as_lines(a, dim)
    if (is_sorted or k * 64 <= n) and not _has_rivals(lines, _as_lines(best, dim), largest):
        return None
    places = _places(lines, k, TOP if is_sorted else TOP_UNSORTED, largest)
    return None if places is None else _as_array(places[:, :k], a.shape, dim)


def _has_rivals(lines: np.ndarray, best: np.ndarray, largest: bool) -> bool:
    """Whether other elements, or each other, are equal to the best ones. Shape: lines (rows, n), best (rows, k)"""
    if np.count_nonzero(lines == best[:, -1:]) != len(lines):  # also where the last is nan
        return True
    if best.shape[1] == 1:
        return False
    first = best[:, 0]
    return bool((best[:, 1:] == best[:, :-1]).any() or largest and (first != first).any())


def kth_place(a: np.ndarray, k: int, dim: int) -> np.ndarray | None:
    """Where torch finds element number k, from 1, along `dim`, which stays with size 1; None where that takes too long."""
    places = _places(_as_lines(a, dim), k, KTH, False) if type(a) is np.ndarray else None
    return None if places is None else _as_array(places[:, k - 1], a.shape, dim)
