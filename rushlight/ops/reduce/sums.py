"""Sums of float32 and float64 in torch's order, so that they have its bits.

torch's kernel (`aten/src/ATen/native/cpu/SumKernel.cpp`) sums a row in memory by vectors of 32 bytes, four of them side by side;
then the vectors that are left, the four, and last the elements that no vector had, then the lanes of the vector. Columns, next
to one another in memory, are summed row after row in blocks of four vectors, and by every fourth row where no block is full.
Long sums have up to four levels: sixteen terms or more make one of the next (`_in_levels`), which keeps rounding errors small.
Where there are several sums, threads share these, which leaves the order as it is. One sum of 32,768 elements or more is divided
between torch's threads: each sums a part, and then their sums are summed (`_whole`).

On raw arrays. Below what these functions do by NumPy's passes; the compiler does it in one (`native_sums`).
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.extension_points import native_sums, thread_count
from ..pointwise.building_blocks import F32, F64, MANY, add_reduce

__all__ = [
    "LANES",
    "LEVELS",
    "LEVELS_OF_BATCH",
    "SIDE_BY_SIDE",
    "bits_of_batch",
    "level_bits",
    "mean_of_picked",
    "sum_in_order",
    "sum_of_batch",
]

LANES = {F32: 8, F64: 4}  # of torch's vectors; it has none of 64 bytes for sums
SIDE_BY_SIDE = 4
LEVELS, LEVELS_OF_BATCH, _BITS = 4, 8, 4
_PART = 1 << 15  # elements: torch gives no thread fewer


def sum_in_order(a, axis, keepdims=False):
    """The sum over an axis, several, or all (None), in torch's order; None for what this does not know.

    Shape: (*) -> (*) without the axes
    """
    if type(a) is not np.ndarray or axis == () or (lanes := LANES.get(a.dtype)) is None:
        return None
    size, flags = a.size, a.flags
    if not size:
        return None
    if not flags.c_contiguous:
        if axis is not None or not flags.f_contiguous:
            return None
        a = a.T
    if axis is None and not keepdims:
        return _whole(a, lanes)
    shape, ndim = a.shape, a.ndim
    first, stop = (0, ndim) if axis is None else (axis, axis + 1) if type(axis) is int else _block(axis)
    if stop < 0:
        return _over_several(a, axis, keepdims, lanes)
    m = math.prod(shape[first:stop])
    kept = (*shape[:first], *(1,) * (stop - first if keepdims else 0), *shape[stop:])
    n = math.prod(shape[stop:])
    if m == 1:
        r = a + a.dtype.type(0)
    elif n == 1 and m <= SIDE_BY_SIDE and size < MANY:
        r = _one_after_another(a.reshape(-1, m))
    elif m == size:
        r = _whole(a, lanes)
    elif n == 1:
        r = _rows(a.reshape(-1, m), lanes)
    else:
        r = _columns(a.reshape(-1, m, n), lanes)
    return r.reshape(kept)


def _over_several(a, axes, keepdims, lanes):
    """The sum over axes that do not follow one another: over the last ones that do, and then over the others, one sum after
    another. Axes of size 1 do not count.
    """
    shape = a.shape
    reduced = {axis % a.ndim for axis in axes}
    kept = [n for i, n in enumerate(shape) if i not in reduced]
    groups: list[list] = []  # [whether it is reduced, its size] of neighbouring axes
    for i, n in enumerate(shape):
        if n > 1 and groups and groups[-1][0] == (i in reduced):
            groups[-1][1] *= n
        elif n > 1:
            groups.append([i in reduced, n])
    sizes = [n for _, n in groups]
    inner = max((i for i, group in enumerate(groups) if group[0]), default=-1)
    if all(group[0] for group in groups):
        r = _whole(a, lanes)
    elif inner < 0:
        r = a + a.dtype.type(0)
    else:
        others = [i for i in range(inner) if groups[i][0]]
        n = math.prod(sizes[inner + 1 :])
        if n == 1:
            r = _rows(a.reshape(-1, sizes[inner]), lanes)
        elif others:
            r = _columns_singly(a.reshape(-1, sizes[inner], n))
        else:
            r = _columns(a.reshape(-1, sizes[inner], n), lanes)
        if others:
            left = [i for i in range(len(groups)) if i != inner]
            r = r.reshape([sizes[i] for i in left])
            r = np.moveaxis(r, [left.index(i) for i in others], range(len(others)))
            r = _in_order(np.ascontiguousarray(r).reshape(1, math.prod(sizes[i] for i in others), -1)) + a.dtype.type(0)
    return r.reshape([1 if i in reduced else n for i, n in enumerate(shape)] if keepdims else kept)


def _block(axes):
    """(first, stop) of axes that follow one another, else (0, -1)."""
    first, stop = min(axes), max(axes) + 1
    return (first, stop) if stop - first == len(axes) else (0, -1)


def level_bits(n):
    """How many terms, as a power of two, make one of the next level in a sum of n."""
    return max(_BITS, ((n - 1).bit_length() if n > 1 else 0) // LEVELS)


def _whole(a, lanes):
    """The sum of all elements. Shape: (*), C-contiguous -> ()"""
    size, threads = a.size, 1
    if size >= _PART and (count := thread_count.value) is not None:
        threads = count()
    native = native_sums.value
    if threads == 1:
        if native is not None and size >= lanes and (r := native.rows(a, 1, size)) is not None:
            return r
        return _rows(a.reshape(1, -1), lanes)[0]
    of_each = -(-size // min(threads, -(-size // _PART)))
    parts = np.zeros(threads, a.dtype)
    used = -(-size // of_each)
    if native is None or (r := native.rows(a, used, of_each)) is None:
        flat = a.reshape(-1)
        r = [_rows(flat[None, i * of_each : (i + 1) * of_each], lanes)[0] for i in range(used)]
    parts[:used] = r
    return _rows(parts[None], lanes)[0]


def _rows(a, lanes):
    """Shape: (r, n) -> (r,)"""
    native, n = native_sums.value, a.shape[1]
    if native is not None and n >= lanes and (r := native.rows(a, len(a), n)) is not None:
        return r
    if a.size >= MANY and len(a) > 1:  # the passes below need memory
        step = max(MANY // n, 1)
        return np.concatenate([_rows_by_passes(a[i : i + step], lanes) for i in range(0, len(a), step)])
    return _rows_by_passes(a, lanes)


def _rows_by_passes(a, lanes):
    n = a.shape[1]
    if n < lanes:
        if n > SIDE_BY_SIDE:  # each fourth one, then the four
            a = a[:, [0, *range(SIDE_BY_SIDE, n), 1, 2, 3]]
        return _one_after_another(a)
    whole = n - n % lanes
    vectors = _every_fourth(a[:, :whole].reshape(len(a), -1, lanes))
    return _one_after_another(vectors if whole == n else np.concatenate((a[:, whole:], vectors), 1))


def _one_after_another(a):
    """Shape: (r, n) -> (r,), of few columns. From 0 on, which makes 0 of -0."""
    if a.shape[1] < LANES[F32]:  # NumPy sums fewer than eight so
        return add_reduce(a, 1) + a.dtype.type(0)
    if len(a) == 1:
        return np.add.accumulate(a, 1)[:, -1] + a.dtype.type(0)
    return add_reduce(np.ascontiguousarray(a.T), 0) + a.dtype.type(0)


def _columns_singly(a):
    """As where no block is full. Shape: (b, m, n) -> (b, n)"""
    native, (b, m, n) = native_sums.value, a.shape
    if native is not None and m > 1 and (r := native.columns(a, b, m, n, False)) is not None:
        return r
    return _every_fourth(a) + a.dtype.type(0)


def _columns(a, lanes):
    """Shape: (b, m, n) -> (b, n)"""
    native, (b, m, n) = native_sums.value, a.shape
    if native is not None and m > 1 and (r := native.columns(a, b, m, n, True)) is not None:
        return r
    step = lanes * SIDE_BY_SIDE if n >= lanes else SIDE_BY_SIDE
    in_blocks = n - n % step
    if in_blocks == n or m <= SIDE_BY_SIDE:
        return _in_levels(a) + a.dtype.type(0)
    rest = _every_fourth(a[:, :, in_blocks:])
    r = np.concatenate((_in_levels(a[:, :, :in_blocks]), rest), 1) if in_blocks else rest
    return r + a.dtype.type(0)


def _every_fourth(a):
    """Four sums of every fourth row, and these one after another. Shape: (b, m, n) -> (b, n)"""
    b, m, n = a.shape
    side = m // SIDE_BY_SIDE
    if not side:
        return _in_order(a)
    whole = side * SIDE_BY_SIDE
    four = _in_levels(np.ascontiguousarray(a[:, :whole]).reshape(b, side, -1)).reshape(b, SIDE_BY_SIDE, n)
    first = four[:, 0]
    for i in range(whole, m):
        first = first + a[:, i]
    for i in range(1, SIDE_BY_SIDE):
        first = first + four[:, i]
    return first


def sum_of_batch(a):
    """The sum of a loss's terms in the order of torch's `nll_loss`: the first one is added last. Shape: (n,) -> ()"""
    n = len(a)
    if n <= 1 << _BITS:
        return np.add.accumulate(np.concatenate((a[1:], a[:1])))[-1] + a.dtype.type(0)
    return (_in_levels(a[None, 1:, None], bits_of_batch(n), LEVELS_OF_BATCH)[0, 0] + a[0]) + a.dtype.type(0)


def bits_of_batch(n):
    """`level_bits` of a loss's n terms."""
    return max(_BITS, (n - 1).bit_length() // LEVELS_OF_BATCH)


def mean_of_picked(x, target):
    """Minus the mean, summed as by `sum_of_batch`, of the element that `target` names in each row; None where it names none.

    Shape: x (n, c) of float32, target (n,) of int64, n > 0 -> ()
    """
    n = len(x)
    native = native_sums.value
    if native is not None and x.flags.c_contiguous and target.flags.c_contiguous:
        r = native.mean_of_picked(x, target)
        if r is not None:
            return r
    if target.item(target.argmin()) < 0:
        return None
    try:
        return sum_of_batch(x[np.arange(n), target]) / -n + 0.0  # never -0
    except IndexError:
        return None


def _in_levels(a, bits=None, levels=LEVELS):
    """Shape: (b, m, n) -> (b, n)"""
    b, m, n = a.shape
    bits = level_bits(m) if bits is None else bits
    step = 1 << bits
    if m < step:
        return _in_order(a)
    rests = []
    for level in range(levels):
        groups = a.shape[1] >> bits
        if level == levels - 1 or not groups:
            rests.append(_in_order(a))
            break
        whole = groups << bits
        if whole < a.shape[1]:
            rests.append(_in_order(a[:, whole:]))
        a = _in_order(np.ascontiguousarray(a[:, :whole]).reshape(b * groups, step, n)).reshape(b, groups, n)
    r = rests[0]
    for rest in rests[1:]:
        r = r + rest
    return r


def _in_order(a):
    """One row after another. Shape: (b, m, n) -> (b, n)"""
    if a.shape[1] == 1:
        return a[:, 0]
    if a.shape[2] > 1:
        return add_reduce(a, 1)
    return np.add.accumulate(a, 1)[:, -1]
