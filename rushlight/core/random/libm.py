"""Arithmetic that rounds as torch's compiled code does: the C library's functions, and fused multiply-add."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

# NumPy's vectorised functions differ from the C library's by one ulp in 0.1 % (log, sin, cos) to 6 % (log1p) of the
# float64 values on AVX-512 machines. Through `math` they are exact and cost about 70 ns a value instead of 2 to 10.
EXACT_LIMIT = 1 << 13


def libm(name: str, x: np.ndarray, exact: bool = True) -> np.ndarray:
    """log, log1p, exp, sin, cos or tan of a float64 array.

    Up to EXACT_LIMIT values, and where `exact` is asked for, the result is the C library's; otherwise NumPy's, within
    an ulp of it.
    """
    if exact and x.size <= EXACT_LIMIT:
        try:
            return np.fromiter(map(getattr(math, name), x.ravel().tolist()), np.float64, x.size).reshape(x.shape)
        except (ValueError, OverflowError):  # log(0) or a huge exp: NumPy gives the infinities that C gives
            pass
    with np.errstate(all="ignore"):
        return getattr(np, name)(x)


def fma(x: Any, y: float, z: float) -> Any:
    """x * y + z rounded once, for a float64 array or float x and finite floats y and z.

    Dekker's exact product and Knuth's exact sum; the last addition can round a second time, about once in 2**50.
    """
    product = x * y
    if z == 0 or y == 1 or abs(y) > 1e290:  # there a split would overflow; the plain sum is within an ulp
        return product + z
    x_high, x_low = _split(x)
    y_high, y_low = _split(y)
    product_error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    total = product + z
    z_part = total - product
    total_error = (product - (total - z_part)) + (z - z_part)
    return total + (total_error + product_error)


def _split(x: Any) -> tuple[Any, Any]:
    """High and low half of a float64's significand (Veltkamp)."""
    scaled = 134217729.0 * x
    high = scaled - (scaled - x)
    return high, x - high
