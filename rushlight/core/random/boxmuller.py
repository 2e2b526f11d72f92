"""Box-Muller over blocks of sixteen: the fast path of `normal`, for 16 or more contiguous elements.

Of each block the first eight uniforms give radii, the last eight angles. In float32 torch evaluates log, sin and cos
with the Cephes polynomials on AVX2 registers, and the compiler contracts products into fused multiply-adds; the steps
below repeat those roundings. (A fused step runs in float64, where the product is exact; it rounds twice, which
differs from one rounding about once in 2**29 steps.)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .libm import fma, libm

LOG_POLYNOMIAL = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
COS_POLYNOMIAL = (2.443315711809948e-005, -1.388731625493765e-003, 4.166664568298827e-002)
SIN_POLYNOMIAL = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
LN2_LOW, LN2_HIGH = -2.12194440e-4, 0.693359375
MINUS_QUARTER_PI = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_TWO_PI = np.float32(2 * np.pi)
_SQRT_HALF_BITS = np.float32(0.707106781186547524).view(np.int32)
_SIGN = np.int32(-(1 << 31))

PAIRS = 1 << 14  # of a strip: its temporaries stay in the second-level cache


def blocks32(uniforms: np.ndarray, mean: float, std: float) -> None:
    """Turn whole blocks of sixteen float32 uniforms into normals, in place. Shape: (16 B,) contiguous."""
    for start in range(0, uniforms.size, 2 * PAIRS):
        strip = uniforms[start : start + 2 * PAIRS].reshape(-1, 2, 8)
        u1, u2 = np.float32(1) - strip[:, 0], strip[:, 1]
        radius = np.sqrt(np.float32(-2) * _log(u1.ravel()))
        sin, cos = _sincos((_TWO_PI * u2).ravel())
        strip[:, 0] = scale(radius * cos, mean, std).reshape(-1, 8)
        strip[:, 1] = scale(radius * sin, mean, std).reshape(-1, 8)


def blocks64(uniforms: np.ndarray, mean: float, std: float) -> None:
    """Turn whole blocks of sixteen float64 uniforms into normals, in place. Shape: (16 B,) contiguous."""
    pairs = uniforms.reshape(-1, 2, 8)
    u1, u2 = 1 - pairs[:, 0], pairs[:, 1]
    radius = np.sqrt(-2 * libm("log", u1))
    theta = 2 * np.pi * u2
    pairs[:, 0] = fma(radius * libm("cos", theta), std, mean)
    pairs[:, 1] = fma(radius * libm("sin", theta), std, mean)


def scale(x: np.ndarray, mean: Any, std: Any) -> np.ndarray:
    """x * std + mean rounded to float32 once."""
    mean, std = np.float32(mean), np.float32(std)
    if mean == 0 or std == 1:  # one of the two roundings is void
        return x * std + mean
    return _fused(x, std, mean)


def _fused(x: np.ndarray, y: Any, z: Any) -> np.ndarray:
    """x * y + z rounded to float32 once."""
    wide = x.astype(np.float64)
    wide *= y
    wide += z
    return wide.astype(np.float32)


def _horner(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """The polynomial in x, float32, highest power first, each step fused."""
    first, *rest = (np.float64(np.float32(c)) for c in coefficients)
    wide = x.astype(np.float64)
    y, rounded = wide * first, np.empty_like(x)
    for c in rest[:-1]:
        y += c
        np.copyto(rounded, y, "same_kind")
        np.copyto(y, rounded)
        y *= wide
    y += rest[-1]
    np.copyto(rounded, y, "same_kind")
    return rounded


def _log(x: np.ndarray) -> np.ndarray:
    """log of normal positive float32 numbers: e log 2 + log m with m in [sqrt(1/2), sqrt(2))."""
    bits = x.view(np.int32)
    exponent = bits - _SQRT_HALF_BITS
    exponent >>= 23
    m = (bits - (exponent << 23)).view(np.float32)
    m -= np.float32(1)
    e = exponent.astype(np.float32)
    z = m * m
    y = _horner(m, LOG_POLYNOMIAL)
    y *= m
    y = _fused(y, z, e * np.float32(LN2_LOW))
    z *= np.float32(0.5)
    y -= z
    y += m
    e *= np.float32(LN2_HIGH)  # exact, as its ten bits are: no need to fuse
    y += e
    return y


def _sincos(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sin and cos of float32 angles in [0, 2 pi)."""
    octant = (x * np.float32(1.27323954473516)).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(np.float32)
    for part in MINUS_QUARTER_PI[:2]:  # short constants: the products are exact
        x = x + turns * np.float32(part)
    x = _fused(turns, np.float32(MINUS_QUARTER_PI[2]), x)
    z = x * x
    cos = _horner(z, COS_POLYNOMIAL)
    cos *= z
    cos = _fused(cos, z, z * np.float32(-0.5))
    cos += np.float32(1)
    sin = _horner(z, SIN_POLYNOMIAL)
    sin *= z
    sin = _fused(sin, x, x)
    # Exchange the two where bit 1 of the octant is set, on the bits: `where` costs 3 ns an element.
    sin_bits, cos_bits = sin.view(np.int32), cos.view(np.int32)
    exchange = sin_bits ^ cos_bits
    exchange &= (octant << 30) >> 31
    sin_bits ^= exchange
    cos_bits ^= exchange
    sin_bits ^= (octant << 29) & _SIGN
    octant += 2
    cos_bits ^= (octant << 29) & _SIGN
    return sin, cos
