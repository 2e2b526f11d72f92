"""The numbers of arange, linspace and logspace, each rounded where torch's compiled loops round it.

Those loops use fused multiply-add. linspace counts up from the start in the first half and down from the end in the
second; arange fills pairs of vectors, each counted on from its own first element, and single elements after them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ...core.dispatch.scalars import exact
from ...core.tensor.casting import cast
from ..pointwise.building_blocks import CHUNK
from ..pointwise.fused_loops import LARGE
from ..pointwise.multiply_add import multiply_add

_DOUBLE = np.dtype(np.float64)
_SINGLE = np.dtype(np.float32)
_EXACT = (
    53 - 24 - 3
)  # powers of 2: a float32 has 24 digits, and a sum of two products is below 8 times the largest number
_COUNTED = 1 << 24  # float32 holds the whole numbers up to here
_FEW = 1024  # numbers, which Python's power makes as fast


_Made = TypeVar("_Made", bound=Callable[..., Any])


def _silent(make: _Made) -> _Made:
    """Numbers that a type does not hold become infinite, or nan, without NumPy's warnings."""

    @wraps(make)
    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"):
            return make(*arguments)

    return run  # type: ignore[return-value]


@_silent
def spaced(start: Any, end: Any, n: int, kind: np.dtype) -> np.ndarray:
    """The n numbers of linspace."""
    if not n:
        return np.empty(0, kind)
    if n == 1:
        return np.full(1, exact(start, kind), kind)
    if kind.kind in "iu":  # whole ends, a step in double precision, every result cut to a whole number
        return _spaced(start, end, n, _DOUBLE).astype(np.int64).astype(kind)
    if kind.kind == "c":
        part = _SINGLE if kind.itemsize == 8 else _DOUBLE
        real, imag = (_spaced(getattr(start, p), getattr(end, p), n, part) for p in ("real", "imag"))
        return (real + 1j * imag).astype(kind)
    if kind in (_SINGLE, _DOUBLE):
        return _spaced(start, end, n, kind)
    start, end = kind.type(start), kind.type(end)  # half types: each operation rounds by itself
    step = (end - start) / kind.type(max(n - 1, 1))
    i = np.arange(n)
    return np.where(i < n // 2, start + i.astype(kind) * step, end - (n - 1 - i).astype(kind) * step)


def _spaced(start: Any, end: Any, n: int, kind: np.dtype) -> np.ndarray:
    if not n:
        return np.empty(0, kind)
    start, end = kind.type(start), kind.type(end)
    if kind is _SINGLE:
        found = _spaced_plainly(start, end, n)
        if found is not None:
            return found
    count = np.arange(n, dtype=kind)
    count[n // 2 :] -= n - 1
    limits = np.full(n, end)
    limits[: n // 2] = start
    step = (end - start) / kind.type(n - 1)
    if n > LARGE and np.isfinite(step):
        return multiply_add(count, step, limits)
    return _fused(count, step, limits)


def _spaced_plainly(start: Any, end: Any, n: int) -> np.ndarray | None:
    """In float32 by way of float64, which holds these products and sums, so that one rounding is left.

    All are multiples of the last digit of start, end or step. None where the largest one has more than 53 of these digits,
    or overflows.
    """
    step = (end - start) / np.float32(n - 1)
    powers = [math.frexp(x)[1] for x in (start, end, step) if x]
    if n > _COUNTED or not powers or max(powers) > 120 or max(powers) - min(powers) > _EXACT or min(powers) < -100:
        return None
    total, half = np.arange(n, dtype=_DOUBLE), n // 2
    low, high = total[:half], total[half:]
    high -= n - 1
    total *= step
    low += start
    high += end
    return total.astype(_SINGLE)


@_silent
def powers(base: float, start: Any, end: Any, n: int, kind: np.dtype) -> np.ndarray:
    """The n numbers of logspace: `base` to the power of equally spaced exponents, without fused operations."""
    if not n:
        return np.empty(0, kind)
    if kind.kind == "c":
        return np.power(kind.type(base), spaced(start, end, n, kind))
    if n == 1:
        return np.full(1, exact(_power(float(base), np.array([float(start)])).item(), kind), kind)
    start, end = (start, end) if kind.kind in "iu" else (kind.type(start), kind.type(end))
    step, i = float(end - start) / max(n - 1, 1), np.arange(n)
    exponents = np.where(i < n // 2, float(start) + step * i, float(end) - step * (n - 1 - i))
    if kind == _SINGLE and n > _FEW:  # of which NumPy's last digit in double precision decides one in 2**29
        return np.power(float(base), exponents).astype(kind)
    numbers = _power(float(base), exponents)
    if kind.kind in "iu":
        return cast(numbers, kind)
    return (numbers.astype(_SINGLE) if kind.itemsize == 2 else numbers).astype(kind)


def _power(base: float, exponents: np.ndarray) -> np.ndarray:
    """By the C library: NumPy's vectorised power is an ulp away in many places."""
    try:
        return np.array([math.pow(base, x) for x in exponents.tolist()])
    except (OverflowError, ValueError):  # NumPy gives the infinities and NaN that C gives
        return np.power(base, exponents)


@_silent
def counted(start: float, step: float, n: int, kind: np.dtype) -> np.ndarray:
    """The n numbers of arange for a floating type."""
    if kind.itemsize >= 4 and start == int(start) and step == int(step) and abs(start) + abs(step) * n < 1 << 24:
        whole = np.arange(n, dtype=kind)  # exact, all of them
        if step != 1:
            whole *= kind.type(step)
        if start:
            whole += kind.type(start)
        return whole
    work = _SINGLE if kind.itemsize == 2 else _DOUBLE
    out = _rounded(np.arange(n, dtype=work), work.type(step), work.type(start), kind)
    lanes = 32 // kind.itemsize
    whole = n - n % (2 * lanes)
    if whole:
        first = np.repeat(out[:whole:lanes].astype(work), lanes)
        i = np.tile(np.arange(lanes, dtype=work), whole // lanes)
        fused = kind.itemsize > 2 or kind == np.float16  # bfloat16's vectors are counted in two operations
        out[:whole] = _rounded(i, work.type(step), first, kind) if fused else (first + i * work.type(step)).astype(kind)
    return out


def _rounded(x: np.ndarray, y: Any, z: Any, kind: np.dtype) -> np.ndarray:
    return _fused(x, y, np.broadcast_to(z, x.shape)).astype(kind)


# ----------------------------------------------------------------------------------------- x * y + z, rounded once


def _fused(x: np.ndarray, y: Any, z: np.ndarray) -> np.ndarray:
    """x * y + z rounded once to x's type, float32 or float64."""
    with np.errstate(all="ignore"):
        if x.dtype == _SINGLE:
            return _fused_single(x, np.float64(y), z)
        plain = x * y + z
        high, low = _product(x, y)
        total, rest = _sum(z, low)
        total, error = _sum(high, total)
        fused = total + _to_odd(rest, error)
        return np.where(np.isfinite(fused), fused, plain)


def _fused_single(x: np.ndarray, y: np.float64, z: np.ndarray) -> np.ndarray:
    """x * y + z rounded once to float32: the product is exact in float64, and rounding the sum twice is rarely wrong."""
    out = np.empty(x.shape, _SINGLE)
    is_tiny = abs(y) < 2.0**-70 or bool(((z != 0) & (np.abs(z) < 2.0**-70)).any())  # else no sum is, unless it is 0
    for i in range(0, x.size, CHUNK):
        piece = slice(i, i + CHUNK)
        products = x[piece] * y
        total = products + z[piece]
        out[piece] = total
        doubtful = (total.view(np.int64) & 0x1FFFFFFF) == 0x10000000  # in the middle between two float32
        if is_tiny:
            doubtful |= np.abs(total) < 2.0**-125  # float32 holds these with fewer digits
        if doubtful.any():
            addends = z[piece].astype(_DOUBLE)[doubtful]
            out[piece][doubtful] = _to_odd(products[doubtful], addends)
    wrong = ~np.isfinite(out)
    if wrong.any():
        out[wrong] = (x * _SINGLE.type(y) + z)[wrong]
    return out


def _sum(a: Any, b: Any) -> tuple[Any, Any]:
    """a + b and what its rounding left out (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """a * b and what its rounding left out (Dekker)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = 134217729.0 * x
    high = scaled - (scaled - x)
    return high, x - high


def _to_odd(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b where an inexact sum keeps an odd last digit, so that rounding it once more is right (Boldo, Melquiond)."""
    total, error = _sum(a, b)
    bits = total.view(np.int64)
    nudge = (error != 0) & (bits & 1 == 0)
    return np.where(nudge, bits + np.where((error > 0) == (total > 0), 1, -1), bits).view(_DOUBLE)
