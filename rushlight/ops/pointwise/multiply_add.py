"""x * y + z with one rounding, which torch's loops on the CPU do with one instruction and NumPy has no function for.

`add` and `sub` with `alpha`, `lerp`, `addcmul` and with them most optimizers round like that; two roundings give another
last bit in 2 to 25 of 100 elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.determinism import mode
from .building_blocks import CHUNK, F32, F64
from .fused_loops import LARGE, FusedLoop

_BELOW_F32, _HALF = (1 << 29) - 1, 1 << 28  # bits of a float64 that a float32 of normal size lacks
_SMALLEST_F32 = 2.0**-126
_SPLIT = 134217729.0  # 2^27 + 1 cuts a float64 into two halves whose products are exact


def multiply_add(x: Any, y: Any, z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """x * y + z of float32 or float64 arrays, rounded once; one of x and y may be a number, which takes their type.

    Large arrays take one native loop. Elsewhere a float32 product is exact in float64, and the sum rounds once more there:
    an element in 5e8 comes out otherwise. That costs 1.2 ns an element instead of the 0.4 of a product and a sum. Where
    other processes may compute the same by native loops (`core/determinism.py`), those elements are found and mended.
    """
    d = z.dtype
    if type(x) is not np.ndarray:
        x, y = y, x
    if type(y) is not np.ndarray:
        y = np.array(y, d)
    if z.size > LARGE and _are_alike(x, y, z):
        return _sum_of_many.kernel(x, y, z, out=out) if y.ndim else _sum_of_scaled.kernel(x, z, y, out=out)
    r = (_in_float64 if d is F32 else _in_halves)(x, y, z)
    if out is None:
        return np.asarray(r).astype(d, copy=False)
    out[...] = r
    return out


def _are_alike(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> bool:
    if x.shape != z.shape or (y.ndim and y.shape != z.shape):
        return False
    return x.flags.c_contiguous and y.flags.c_contiguous and z.flags.c_contiguous


def _in_pieces(x: np.ndarray, y: np.ndarray, z: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """By parts that stay in the cache, where there would be more than two."""
    of = _in_float64 if z.dtype is F32 else _in_halves
    r = np.empty_like(z, order="C") if out is None or not out.flags.c_contiguous else out
    flat = [a.reshape(-1) if a.ndim else a for a in (x, y, z)]
    to = r.reshape(-1)
    length = CHUNK if z.size > 2 * CHUNK and type(z) is np.ndarray else z.size
    for i in range(0, z.size, length):
        to[i : i + length] = of(*[a[i : i + length] if a.ndim else a for a in flat])
    if out is not None and r is not out:
        np.copyto(out, r)
    return r if out is None else out


_sum_of_many = FusedLoop("multiply_add", 3, _in_pieces)
_sum_of_scaled = FusedLoop("scaled", 2, lambda x, z, y, out=None: _in_pieces(x, y, z, out))


def _in_float64(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Any:
    p = x.astype(F64) * y.astype(F64)  # to convert within an operation takes NumPy twice as long
    z = z.astype(F64)
    if mode.shared:
        if p.shape == z.shape and p.shape:
            return _rounded_to_odd(p, z)
        shape = np.broadcast_shapes(p.shape, z.shape)
        return _rounded_to_odd(*[np.broadcast_to(np.atleast_1d(a), shape or 1) for a in (p, z)]).reshape(shape)
    return np.add(p, z, p) if type(p) is np.ndarray and p.shape == z.shape else p + z


def _rounded_to_odd(p: np.ndarray, z: np.ndarray) -> np.ndarray:
    """p + z, which a second rounding, to float32, cannot send to the wrong side: if inexact, not half-way between two of these."""
    s = np.add(p, z)
    bits = s.view(np.int64)
    half_way = (bits & _BELOW_F32) == _HALF
    half_way |= np.abs(s) < _SMALLEST_F32  # fewer bits are left there
    at = np.nonzero(half_way)
    if at[0].size:
        p, z, t, b = p[at], z[at], s[at], bits[at]
        back = t - p
        rest = (p - (t - back)) + (z - back)  # Knuth
        step = np.where((rest > 0) == (t > 0), 1, -1)
        bits[at] = np.where((rest != 0) & (b & 1 == 0), b + step, b)
    return s


def _in_halves(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> Any:
    """By the errors of the product (Dekker) and of the sum (Knuth), which float64 holds exactly."""
    p = x * y
    (x1, x2), (y1, y2) = _halves(x), _halves(y)
    below = x2 * y2 - (((p - x1 * y1) - x2 * y1) - x1 * y2)
    s = p + z
    back = s - p
    rest = (p - (s - back)) + (z - back) + below
    return np.where(np.abs(rest) > 0, s + rest, s)  # the sum itself where it is exact, -0 too, or has overflowed


def _halves(x: Any) -> tuple[Any, Any]:
    c = _SPLIT * x
    high = c - (c - x)
    return high, x - high
