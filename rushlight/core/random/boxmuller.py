"""Box-Muller over blocks of sixteen: the fast path of `normal`, for 16 or more contiguous elements.

Of each block the first eight uniforms give radii, the last eight angles. In float32 torch evaluates log, sin and cos
with the Cephes polynomials on AVX2 registers, and the compiler contracts products into fused multiply-adds; the steps
below repeat those roundings. (A fused step runs in float64, where the product is exact; it rounds twice, which
differs from one rounding about once in 2**29 steps.)
"""

from __future__ import annotations

import numpy as np

from .libm import fma, libm

_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_COS = (2.443315711809948e-005, -1.388731625493765e-003, 4.166664568298827e-002)
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_LN2_LOW, _LN2_HIGH = -2.12194440e-4, 0.693359375
_MINUS_QUARTER_PI = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)
_TWO_PI = np.float32(2 * np.pi)

PAIRS = 1 << 13  # of a strip: its temporaries stay in the second-level cache


def blocks32(uniforms: np.ndarray, mean: float, std: float) -> None:
    """Turn whole blocks of sixteen float32 uniforms into normals, in place. Shape: (16 B,) contiguous."""
    for start in range(0, uniforms.size, 2 * PAIRS):
        strip = uniforms[start : start + 2 * PAIRS].reshape(-1, 2, 8)
        u1, u2 = np.float32(1) - strip[:, 0], strip[:, 1]
        radius = np.sqrt(np.float32(-2) * _log(u1.ravel()))
        sin, cos = _sincos((_TWO_PI * u2).ravel())
        strip[:, 0] = _scale(radius * cos, mean, std).reshape(-1, 8)
        strip[:, 1] = _scale(radius * sin, mean, std).reshape(-1, 8)


def blocks64(uniforms: np.ndarray, mean: float, std: float) -> None:
    """Turn whole blocks of sixteen float64 uniforms into normals, in place. Shape: (16 B,) contiguous."""
    pairs = uniforms.reshape(-1, 2, 8)
    u1, u2 = 1 - pairs[:, 0], pairs[:, 1]
    radius = np.sqrt(-2 * libm("log", u1))
    theta = 2 * np.pi * u2
    pairs[:, 0] = fma(radius * libm("cos", theta), std, mean)
    pairs[:, 1] = fma(radius * libm("sin", theta), std, mean)


def _scale(x: np.ndarray, mean: float, std: float) -> np.ndarray:
    mean, std = np.float32(mean), np.float32(std)
    if mean == 0 or std == 1:  # one of the two roundings is void
        return x * std + mean
    return (x.astype(np.float64) * np.float64(std) + np.float64(mean)).astype(np.float32)


def _fused(x: np.ndarray, y: np.ndarray, z: np.ndarray, scratch: np.ndarray) -> np.ndarray:
    """x * y + z rounded to float32 once; `scratch` is float64 of the same shape."""
    np.multiply(x, y, out=scratch, dtype=np.float64)
    np.add(scratch, z, out=scratch)
    return scratch.astype(np.float32)


def _horner(x: np.ndarray, coefficients: tuple[float, ...], scratch: np.ndarray) -> np.ndarray:
    """The polynomial in x, float32, highest power first, each step fused."""
    wide = x.astype(np.float64)
    first, *rest = (np.float64(np.float32(c)) for c in coefficients)
    np.multiply(wide, first, out=scratch)
    for c in rest[:-1]:
        scratch += c
        scratch[...] = scratch.astype(np.float32)
        scratch *= wide
    scratch += rest[-1]
    return scratch.astype(np.float32)


def _log(x: np.ndarray) -> np.ndarray:
    """log of normal positive float32 numbers."""
    scratch = np.empty(x.shape, np.float64)
    bits = x.view(np.uint32)
    exponent = ((bits >> 23).astype(np.int32) - 126).astype(np.float32)
    x = ((bits & np.uint32(0x807FFFFF)) | np.uint32(0x3F000000)).view(np.float32)
    small = x < np.float32(0.707106781186547524)
    exponent -= small
    x = (x - np.float32(1)) + x * small
    z = x * x
    y = _horner(x, _LOG, scratch) * x
    y = _fused(y, z, exponent * np.float32(_LN2_LOW), scratch)
    y -= z * np.float32(0.5)
    x += y
    return _fused(exponent, np.float32(_LN2_HIGH), x, scratch)


def _sincos(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sin and cos of float32 angles in [0, 2 pi)."""
    scratch = np.empty(x.shape, np.float64)
    octant = (x * np.float32(1.27323954473516)).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(np.float32)
    for part in _MINUS_QUARTER_PI:
        x = _fused(turns, np.float32(part), x, scratch)
    z = x * x
    cos = _horner(z, _COS, scratch) * z
    cos = _fused(cos, z, z * np.float32(-0.5), scratch)
    cos += np.float32(1)
    sin = _horner(z, _SIN, scratch) * z
    sin = _fused(sin, x, x, scratch)
    swapped = (octant & 2) != 0
    sine, cosine = np.where(swapped, cos, sin), np.where(swapped, sin, cos)
    _flip(sine, octant << 29)
    _flip(cosine, (octant + 2) << 29)
    return sine, cosine


def _flip(x: np.ndarray, signs: np.ndarray) -> None:
    """Negate x, in place, where the top bit of `signs` is set."""
    bits = x.view(np.uint32)
    bits ^= signs.view(np.uint32) & np.uint32(0x80000000)
