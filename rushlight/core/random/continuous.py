"""Draws from continuous distributions.

float32 takes one word a value and float64 two; the 16-bit floats compute as float32 does and round last. The draws
other than `uniform` and the block form of `normal` compute in float64 for every type. float32 and 16-bit results are
torch's bits; float64 results of more than `libm.EXACT_LIMIT` values can differ from them by an ulp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ..dispatch.extension_points import random_normals, random_uniforms
from ..tensor.dtype import c_word, from_numpy
from . import boxmuller
from .ahead import LOW_24, MOST, UNIT, standard_normals, units
from .layout import FLOATING, cast, count, mantissa, name_of, require, torch_name
from .libm import fma, libm
from .mersenne import Generator, resolve

F32 = np.dtype(np.float32)
_STRIP = 1 << 15  # words and temporaries of this many values stay in the second-level cache
_MODEST = 1e30  # bounds below it are far from what float32 can hold
_FEW = 512  # up to here four calls of NumPy are quicker than one of generated code
_SCALAR_PAIRS = 16  # up to here Python's own arithmetic is quicker than NumPy's calls
SCALAR_VALUES = 16  # ... of single numbers


def canonical32(gen: Generator, n: int) -> np.ndarray:
    """n uniform float32 in [0, 1), from the low 24 bits of a word each. The caller holds the generator's lock."""
    if n <= MOST and (made := units(gen, n)) is not None:
        return made
    native = random_uniforms.value
    if native is not None and n > _FEW:
        return _filled(gen, n, native, 0.0, 1.0)
    if n > _STRIP:
        out = np.empty(n, np.float32)
        for start in range(0, n, _STRIP):
            out[start : start + _STRIP] = canonical32(gen, min(_STRIP, n - start))
        return out
    words = gen.words(n)
    words &= LOW_24
    unit = words.astype(F32)
    unit *= UNIT
    return unit


def normals_by_numpy(words: np.ndarray, out: np.ndarray, mean: float, std: float) -> None:
    """Write a normal number for each word to `out`, in whole blocks of sixteen. The words are used up.

    Shape: words (n,) uint32, out (n,)
    """
    words &= LOW_24
    np.multiply(words, UNIT, out, casting="same_kind")
    boxmuller.blocks32(out[: out.size - out.size % 16], mean, std)


def _filled(gen: Generator, n: int, native: Callable[..., None], *numbers: float) -> np.ndarray:
    """n float32 numbers that generated code makes of a word each. The caller holds the generator's lock."""
    out = np.empty(n, F32)
    if n <= _STRIP:
        native(gen.words(n), out, *numbers)
        return out
    for start in range(0, n, _STRIP):
        part = out[start : start + _STRIP]
        native(gen.words(part.size), part, *numbers)
    return out


def canonical64(gen: Generator, n: int) -> np.ndarray:
    """n uniform float64 in [0, 1), from the low 53 bits of two words each, the first word the high half.

    The caller holds the generator's lock.
    """
    if n > _STRIP:
        out = np.empty(n)
        for start in range(0, n, _STRIP):
            out[start : start + _STRIP] = canonical64(gen, min(_STRIP, n - start))
        return out
    words = gen.words(2 * n)
    unit = (words[0::2] & np.uint32(0x1FFFFF)).astype(np.float64)
    unit *= 2.0**32
    unit += words[1::2]
    unit *= 2.0**-53
    return unit


def _few_units(gen: Generator, n: int) -> list[float]:
    """`canonical64` by Python's own arithmetic."""
    words = gen.words(2 * n).tolist()
    return [((high & 0x1FFFFF) << 32 | low) * 2.0**-53 for high, low in zip(words[0::2], words[1::2], strict=True)]


def uniform64(gen: Generator, n: int) -> np.ndarray:
    """n uniform float64 in [0, 1), under the generator's lock."""
    with gen.lock:
        return canonical64(gen, n)


def uniform(gen: Generator | None, shape: Any, dtype: Any, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Uniform in [low, high), as `torch.rand` and `uniform_`; the parts of complex numbers are drawn in turn.

    Raises RuntimeError for low > high or a bound that the type cannot hold.
    """
    if dtype is F32 and low == 0 and high == 1:
        gen = resolve(gen)
        with gen.lock:
            return canonical32(gen, prod(shape)).reshape(shape)
    if dtype is F32 and -_MODEST < low <= high < _MODEST:
        return _uniform32(resolve(gen), shape, low, high)
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if dtype.kind == "c":
        return _as_complex(uniform(gen, (*shape, 2), _part(dtype), low, high), dtype)
    require(dtype, FLOATING, "check_uniform_bounds")
    canonical = canonical64 if dtype == np.float64 else canonical32
    unscaled = low == 0 and high == 1
    if not unscaled:
        _check_bounds(dtype, low, high)
    if n == 0:
        return np.empty(shape, dtype)
    gen = resolve(gen)
    with gen.lock:
        values = canonical(gen, n)
    if unscaled and dtype.itemsize > 2:
        return values.reshape(shape)
    if dtype == np.float64:
        values = fma(values, high - low, low)
    elif not unscaled:
        values = boxmuller.scale(values, low, np.float32(high) - np.float32(low))
    values = values.astype(dtype, copy=False)
    first, last = cast(np.array([low, high], np.float64), dtype)
    values[values == last] = first  # the rounding can reach the excluded bound
    return values.reshape(shape)


def _uniform32(gen: Generator, shape: Any, low: float, high: float) -> np.ndarray:
    """`uniform` for float32 and bounds that need no checks: what parameters are initialised with."""
    native = random_uniforms.value
    if native is not None:
        with gen.lock:
            return _filled(gen, prod(shape), native, low, high).reshape(shape)
    with gen.lock:
        values = canonical32(gen, prod(shape))
    first, last = np.float32(low), np.float32(high)
    values = boxmuller.scale(values, low, last - first)
    if values.size and np.maximum.reduce(values) >= last:
        values[values == last] = first  # the rounding can reach the excluded bound
    return values.reshape(shape)


def normal(
    gen: Generator | None, shape: Any, dtype: Any, mean: float = 0.0, std: float = 1.0, contiguous: bool = True
) -> np.ndarray:
    """Normal numbers, as `torch.randn` and `normal_`.

    Args:
        contiguous: whether torch would fill a contiguous tensor. It is only then that 16 or more values are drawn in
            blocks of sixteen; otherwise they come one after the other, in pairs whose second value the generator
            caches for the next scalar draw.

    Raises RuntimeError for std < 0. A complex number's parts have the variance std**2 / 2 each.
    """
    if dtype is F32 and std >= 0 and -_MODEST < mean < _MODEST and std < _MODEST:
        n, native = prod(shape), random_normals.value
        if n >= 16 and native is not None and contiguous:
            return _blocks(resolve(gen), n, native, mean, std).reshape(shape)
        if 0 < n < 16:
            return _serial(resolve(gen), n, mean, std, False).astype(F32).reshape(shape)
    # moments that float32 cannot hold, and draws beyond a 16-bit type
    with np.errstate(over="ignore", invalid="ignore"):
        return _normal(gen, shape, dtype, mean, std, contiguous)


def _normal(gen: Generator | None, shape: Any, dtype: Any, mean: float, std: float, contiguous: bool) -> np.ndarray:
    """`normal` of any type and moments."""
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if dtype.kind == "c":
        parts = _normal(gen, (*shape, 2), _part(dtype), mean, std / math.sqrt(2), contiguous)
        return _as_complex(parts, dtype)
    if n == 0:
        return np.empty(shape, dtype)
    require(dtype, FLOATING, "normal_kernel_cpu")
    gen = resolve(gen)
    if n < 16 or not contiguous:
        return cast(_serial(gen, n, mean, std, dtype == np.float64), dtype).reshape(shape)
    if dtype.itemsize == 2:
        return _blocks_of_half(gen, n, mean, std).astype(dtype).reshape(shape)
    canonical, blocks = (canonical64, boxmuller.blocks64) if dtype == np.float64 else (canonical32, boxmuller.blocks32)
    with gen.lock:
        out = canonical(gen, n)
        tail = canonical(gen, 16) if n % 16 else None
    blocks(out[: n - n % 16], mean, std)
    if tail is not None:
        blocks(tail, mean, std)
        out[-16:] = tail
    return out.reshape(shape)


def _blocks(gen: Generator, n: int, native: Callable[..., None], mean: float, std: float) -> np.ndarray:
    """The block form of `normal` in float32."""
    if n <= MOST and mean == 0:
        with gen.lock:
            out = _small_blocks(gen, n, native)
        if out is not None:
            return out if std == 1 else boxmuller.scale(out, 0.0, std)
    with gen.lock:
        out = _filled(gen, n, native, mean, std)
        if n % 16:
            out[-16:] = _filled(gen, 16, native, mean, std)
    return out


def _small_blocks(gen: Generator, n: int, native: Callable[..., None]) -> np.ndarray | None:
    """The same with mean 0 and deviation 1, made ahead; None, and nothing is drawn, where it cannot be."""
    rest = n % 16
    if not rest:
        return standard_normals(gen, n, native)
    if gen.words_left() < n + 16:
        return None
    out = np.empty(n, F32)
    whole = standard_normals(gen, n - rest, native)
    gen.words(rest)
    last = standard_normals(gen, 16, native)
    if whole is None or last is None:
        raise AssertionError("a group of words is in two blocks")
    out[: n - rest], out[-16:] = whole, last
    return out


def _blocks_of_half(gen: Generator, n: int, mean: float, std: float) -> np.ndarray:
    """The block form for 16-bit types, which draws no uniforms for the incomplete block."""
    whole = n - n % 16
    with gen.lock:
        out = canonical32(gen, whole + (16 if n % 16 else 0))
    boxmuller.blocks32(out, mean, std)
    if n % 16 == 0:
        return out
    return np.concatenate([out[: n - 16], out[whole:]])


def _serial(gen: Generator, n: int, mean: float, std: float, exact: bool) -> np.ndarray:
    """n normals one after the other in float64, with the cached second value."""
    with gen.lock:
        cached, gen.cached_normal = gen.cached_normal, None
        fresh = n - (cached is not None)
        pairs = (fresh + 1) // 2
        if pairs <= _SCALAR_PAIRS:
            units = _few_units(gen, 2 * pairs)
            first = () if cached is None else (cached,)
            standard: Any = [
                *first,
                *(v for u1, u2 in zip(units[0::2], units[1::2], strict=True) for v in _pair(u1, u2)),
            ]
            if fresh % 2:
                gen.cached_normal = standard.pop()
            standard = np.array(standard)
        else:
            uniforms = canonical64(gen, 2 * pairs)
            values = _pairs(uniforms, exact)
            values[-2:] = _pair(*uniforms[-2:].tolist())  # the cache is the C library's bits at any size
            if fresh % 2:
                gen.cached_normal = float(values[-1])
            standard = np.empty(n)
            standard[n - fresh :] = values[:fresh]
            if cached is not None:
                standard[0] = cached
    return standard + 0.0 if std == 1 and mean == 0 else fma(standard, std, mean)


def _pair(u1: float, u2: float) -> tuple[float, float]:
    radius, theta = math.sqrt(-2.0 * math.log1p(-u2)), 2.0 * math.pi * u1
    return radius * math.cos(theta), radius * math.sin(theta)


def _pairs(units: np.ndarray, exact: bool) -> np.ndarray:
    radius = np.sqrt(-2.0 * libm("log1p", -units[1::2], exact))
    theta = 2.0 * math.pi * units[0::2]
    values = np.empty(units.size)
    values[0::2] = radius * libm("cos", theta, exact)
    values[1::2] = radius * libm("sin", theta, exact)
    return values


def normal_of(gen: Generator | None, mean: Any, std: Any) -> np.ndarray:
    """Normal numbers by element, as `torch.normal` of tensors; `mean` or `std`, not both, may be a number.

    Shape: mean and std broadcast -> out. The result has the type of `mean` where that is an array, else of `std`.
    Raises RuntimeError where any std < 0.
    """
    if not isinstance(std, np.ndarray):
        return normal(gen, mean.shape, mean.dtype, 0.0, std) + mean
    if std.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if not (std >= 0).all():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    draws = normal(gen, np.broadcast_shapes(np.shape(mean), std.shape), dtype)
    draws *= std
    draws += mean if isinstance(mean, np.ndarray) else np.asarray(mean).astype(dtype)
    return draws


def log_normal(gen: Generator | None, shape: Any, dtype: Any, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """exp of a normal number, as `log_normal_`. Raises RuntimeError for std <= 0."""
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    if n == 0:
        return np.empty(shape, dtype)
    require(dtype, FLOATING, "log_normal_cpu")
    exact = dtype == np.float64
    values = libm("exp", _serial(resolve(gen), n, mean, std, exact), exact)
    return _narrow(values, dtype).reshape(shape)


def exponential(gen: Generator | None, shape: Any, dtype: Any, lambd: float = 1.0) -> np.ndarray:
    """-log(1 - u) / lambd, as `exponential_`. Raises RuntimeError for lambd <= 0 or a type that is not floating."""
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    if n == 0:
        return np.empty(shape, dtype)
    if name_of(dtype) not in FLOATING:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but "
            f"you specified {torch_name(dtype)}"
        )
    if n <= SCALAR_VALUES and lambd == 1 and dtype == F32:
        return np.array(few_exponentials(resolve(gen), n), F32).reshape(shape)
    values = libm("log1p", -uniform64(resolve(gen), n), dtype == np.float64)
    values *= -1.0 / lambd
    return _narrow(values, dtype).reshape(shape)


def few_exponentials(gen: Generator, n: int) -> list[float]:
    """n exponentially distributed numbers of rate 1, before they are rounded to float32, by Python's own arithmetic."""
    with gen.lock:
        units = _few_units(gen, n)
    return [-math.log1p(-u) for u in units]


def cauchy(gen: Generator | None, shape: Any, dtype: Any, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """median + sigma tan(pi (u - 1/2)), as `cauchy_`. Raises RuntimeError for sigma <= 0 or a non-floating type."""
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if name_of(dtype) not in FLOATING:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {torch_name(dtype)}"
        )
    if n == 0:
        return np.empty(shape, dtype)
    tangents = libm("tan", math.pi * (uniform64(resolve(gen), n) - 0.5), dtype == np.float64)
    return _narrow(fma(tangents, sigma, median), dtype).reshape(shape)


def _narrow(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype == np.float64:
        return values
    with np.errstate(over="ignore"):
        return cast(values, dtype)


def _part(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)


def _as_complex(parts: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return parts.view(dtype).reshape(parts.shape[:-1])


def _check_bounds(dtype: np.dtype, low: float, high: float) -> None:
    limit = largest(dtype)
    for name, bound in (("from", low), ("to", high)):
        if not -limit <= bound <= limit:
            raise RuntimeError(f"{name} is out of bounds for {c_word(from_numpy(dtype))}")
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if not high - low <= limit:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{torch_name(dtype)}>::max(), but found to={high:g} and "
            f"from={low:g} which result in to-from to exceed the limit"
        )


def largest(dtype: np.dtype) -> float:
    """The largest finite number of a floating type."""
    if name_of(dtype) == "bfloat16":
        return (2.0 - 2.0 ** (1 - mantissa(dtype))) * 2.0**127
    return float(np.finfo(dtype).max)
