"""Bilinear resampling of images in torch's order, so that results have its bits.

torch computes places and weights in the image's type, with a fused multiply-add, and a pixel as the sum of four products, each
added by a fused multiply-add. It works on channels side by side: those that fill vectors of 32 bytes take the four in another
order than those that are left.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ...core.random.libm import fma
from ..pointwise.building_blocks import F32

__all__ = ["ORDERS", "Taps", "sources", "taps", "upsampled", "vector_channels"]

# Of the upper left, upper right, lower left, lower right; the second one in vectors.
ORDERS = (1, 0, 2, 3), (2, 3, 1, 0)
_VECTOR_BYTES = 32


class Taps(NamedTuple):
    """For each place along an axis of the result its two neighbours in the input (int32), and their weights. Shape: (out,)"""

    low: np.ndarray
    high: np.ndarray
    of_low: np.ndarray
    of_high: np.ndarray


def vector_channels(channels: int, dtype: np.dtype) -> int:
    """How many of the channels torch takes in vectors."""
    return channels - channels % (_VECTOR_BYTES // dtype.itemsize)


@functools.lru_cache(256)
def taps(n: int, out: int, scale: float | None, align_corners: bool, dtype: np.dtype) -> Taps:
    """The taps from n elements to `out`; read-only, since callers share them."""
    t = dtype.type
    if n == out:  # torch copies then, whatever the scale factor
        low = high = np.arange(n)
        part = np.zeros(n, dtype)
    else:
        at = np.maximum(sources(n, out, scale, align_corners, dtype), t(0))
        low = np.minimum(np.floor(at).astype(np.int64), n - 1)
        part = np.clip(at - low.astype(dtype), t(0), t(1))
        high = np.minimum(low + 1, n - 1)
    found = Taps(low.astype(np.int32), high.astype(np.int32), t(1) - part, part)
    for a in found:
        a.flags.writeable = False
    return found


def sources(
    n: int, out: int, scale: float | None, align_corners: bool, dtype: np.dtype, is_fused: bool = True
) -> np.ndarray:
    """The place of each element of the result among the n of the input, before the first and after the last as well.

    is_fused: torch's forward kernels, and those that spread gradients linearly, multiply and add with one rounding.
    Shape: (out,)
    """
    t = dtype.type
    places = np.arange(out, dtype=dtype)
    if align_corners:
        return places * (t(n - 1) / t(out - 1) if out > 1 else t(0))
    ratio = t(1.0 / scale) if scale is not None and scale > 0 else t(n) / t(out)
    if not is_fused:
        return (places + t(0.5)) * ratio - t(0.5)
    return _fused(places + t(0.5), ratio, -0.5)


def _fused(x: np.ndarray, y: np.floating, z: float) -> np.ndarray:
    """x y + z rounded once."""
    if x.dtype is F32:
        return (x.astype(np.float64) * y + z).astype(F32)
    return fma(x, float(y), z)


def upsampled(x: np.ndarray, rows: Taps, columns: Taps) -> np.ndarray:
    """By NumPy, of float32. A fused multiply-add is rounded twice here, which differs once in 2**29.

    Shape: (N, C, H, W) -> (N, C, H', W')
    """
    out = np.empty((*x.shape[:2], len(rows.low), len(columns.low)), x.dtype)
    weights = [r[:, None] * c for r in rows[2:] for c in columns[2:]]
    for n in range(len(x)):
        for c in range(x.shape[1]):
            order = ORDERS[c < vector_channels(x.shape[1], x.dtype)]
            values = [x[n, c].take(r, 0).take(column, 1) for r in rows[:2] for column in columns[:2]]
            total = values[order[0]] * weights[order[0]]
            for tap in order[1:]:
                wide = values[tap].astype(np.float64)
                wide *= weights[tap]
                wide += total
                total = wide.astype(F32)
            out[n, c] = total
    return out
