"""Uniform integers and permutations. Floating types hold the integers that their significand can."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..dispatch.extension_points import random_order
from ..tensor.dtype import c_word, from_numpy
from ..warn import warn
from .continuous import SCALAR_VALUES, largest
from .layout import (
    FLOATING,
    INTEGRAL,
    NUMBERS,
    NUMBERS_OR_BOOL,
    UNSIGNED,
    cast,
    count,
    mantissa,
    name_of,
    require,
    torch_name,
)
from .mersenne import Generator, resolve

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
WIDE_RANGE = 1 << 28  # from here on a value takes two words, against the skew of the remainder
WIDE_PERMUTATION = (2**32 - 1) // 20
_INT64 = np.dtype(np.int64)
_FEW = 1 << 10  # swaps that a loop makes sooner than the arrays


def words64(words: np.ndarray) -> np.ndarray:
    """Pairs of words as 64-bit integers, the first word the high half. Shape: (2 N,) -> (N,)"""
    joined = words[0::2].astype(np.uint64)
    joined <<= np.uint64(32)
    joined |= words[1::2]
    return joined


def remainder(values: np.ndarray, divisor: int) -> np.ndarray:
    """values % divisor for unsigned values and 0 < divisor <= 2**64, in place."""
    if divisor >> 8 * values.itemsize:
        return values
    d = values.dtype.type(divisor)
    if divisor & (divisor - 1) == 0:
        values &= d - values.dtype.type(1)
    else:  # NumPy divides by an invariant with multiplications, but has no such remainder
        values -= values // d * d
    return values


def randint(gen: Generator | None, shape: Any, dtype: Any, low: int, high: int) -> np.ndarray:
    """Integers in [low, high), as `torch.randint`. Raises RuntimeError for low >= high or bounds beyond the type."""
    return random_(gen, shape, dtype, low, high)


def random_(
    gen: Generator | None, shape: Any, dtype: Any, low: int | None = None, high: int | None = None
) -> np.ndarray:
    """Integers as `random_` draws them: in [low, high), in [low, largest] without `high`, without both in [0, largest].

    `largest` is the type's maximum, for a floating type with p significant bits 2**p.
    """
    if dtype is _INT64 and type(shape) is tuple and low is not None and high is not None and low < high:
        n, span = prod(shape), high - low
        if 0 < n <= SCALAR_VALUES and span < WIDE_RANGE and low >= INT64_MIN and high <= INT64_MAX:
            gen = resolve(gen)
            with gen.lock:
                words = gen.words(n).tolist()
            return np.array([low + word % span for word in words], _INT64).reshape(shape)
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if low is None:
        low, bounded = 0, high is not None
        if not bounded:
            return _unbounded(gen, shape, n, dtype)
    if high is None and low == INT64_MIN:
        return _full_range(gen, shape, n, dtype)
    if dtype is _INT64 and high is not None and INT64_MIN <= low < high <= INT64_MAX:
        span = high - low  # what `_range` says, 10 us sooner
    else:
        low, span = _range(dtype, low, high)
    if n == 0:
        return np.empty(shape, dtype)
    gen = resolve(gen)
    with gen.lock:
        raw = words64(gen.words(2 * n)) if span >= WIDE_RANGE else gen.words(n)
    values = remainder(raw, span).astype(_INT64)
    if low:
        values += low
    return (values if dtype is _INT64 else cast(values, dtype)).reshape(shape)


def _unbounded(gen: Generator | None, shape: tuple[int, ...], n: int, dtype: np.dtype) -> np.ndarray:
    if n == 0:
        return np.empty(shape, dtype)
    require(dtype, NUMBERS_OR_BOOL, "random_kernel_cpu")
    gen = resolve(gen)
    if name_of(dtype) == "bool":
        span = 2
    else:
        span = 2 ** mantissa(dtype) + 1 if name_of(dtype) in FLOATING else int(np.iinfo(dtype).max) + 1
    wide = name_of(dtype) in ("int64", "float64")
    if n == 1 and wide:  # a seed for a DataLoader's workers: without an array of words
        return np.array(gen.random64() % span, dtype).reshape(shape)
    with gen.lock:
        raw = words64(gen.words(2 * n)) if wide else gen.words(n)
    return cast(remainder(raw, span), dtype).reshape(shape)


def _full_range(gen: Generator | None, shape: tuple[int, ...], n: int, dtype: np.dtype) -> np.ndarray:
    """All of int64, which only `random_(-2**63, None)` asks for."""
    if n == 0:
        return np.empty(shape, dtype)
    kernel = "random_full_64_bits_range_kernel_cpu"
    require(dtype, NUMBERS - {"float16"}, kernel)
    if name_of(dtype) not in ("int64", "float64", "float32", "bfloat16"):
        raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
    gen = resolve(gen)
    with gen.lock:
        raw = words64(gen.words(2 * n))
    return cast(raw.view(np.int64), dtype).reshape(shape)


# The bounds


def _range(dtype: np.dtype, low: int, high: int | None) -> tuple[int, int]:
    """The first value and the number of values, after torch's checks."""
    floating = name_of(dtype) in FLOATING
    if not floating and name_of(dtype) not in INTEGRAL | UNSIGNED | {"bool"}:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    if high is not None:
        if not low < high:
            raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
        if floating:
            low, high = _round_up(low, dtype), _round_down(high, dtype)
            if not low < high:
                raise RuntimeError(
                    "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                    f"from={low} >= to={high}"
                )
        last = high - 1
    elif floating:
        last, low = 1 << mantissa(dtype), _round_up(low, dtype)
        if not low < last:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but "
                f"got from={low} > to_inc={last}"
            )
    else:
        last = 1 if name_of(dtype) == "bool" else min(int(np.iinfo(dtype).max), INT64_MAX)
    _check_range(dtype, low, last)
    return low, last - low + 1


def _check_range(dtype: np.dtype, low: int, last: int) -> None:
    if name_of(dtype) in FLOATING:
        minimum, maximum = -largest(dtype), largest(dtype)
    elif name_of(dtype) == "bool":
        minimum, maximum = 0, 1
    else:
        minimum, maximum = np.iinfo(dtype).min, min(int(np.iinfo(dtype).max), INT64_MAX)
    for name, value in (("from", low), ("to - 1", last)):
        if not minimum <= value <= maximum:
            raise RuntimeError(f"{name} is out of bounds for {c_word(from_numpy(dtype))}")
    if name_of(dtype) not in FLOATING:
        return
    digits = mantissa(dtype)
    for name, value in (("from", low), ("to - 1", last)):
        if abs(value) > 1 << digits:
            warn(
                f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
                f"{c_word(from_numpy(dtype))} can support discrete uniform distribution only within this range. This "
                "warning will become an error in version 1.7 release, please fix the code in advance",
            )


def _in_type(value: int, dtype: np.dtype) -> int:
    """An int64 by way of a floating type and back, with the processor's answer where that overflows."""
    rounded = float(cast(np.array([value], np.int64), dtype)[0])
    return int(rounded) if -(2.0**63) <= rounded < 2.0**63 else INT64_MIN


def _round_up(low: int, dtype: np.dtype) -> int:
    """The first integer from `low` on that the type holds, as far as the cast of a draw could fall below `low`."""
    nearest = _in_type(low + 1, dtype)
    if nearest < low:
        return nearest + (1 << max(abs(low + 1).bit_length() - mantissa(dtype), 0))
    return low


def _round_down(high: int, dtype: np.dtype) -> int:
    """The last `high` for which no draw below it is cast to `high` or above."""
    nearest = _in_type(high - 1, dtype)
    if nearest >= high:
        return nearest - (1 << max(abs(high - 1).bit_length() - mantissa(dtype), 0))
    return high


# Permutations


def randperm(gen: Generator | None, n: int, dtype: Any = np.int64) -> np.ndarray:
    """The integers below n in random order, as `torch.randperm`: Fisher-Yates from the front.

    Raises RuntimeError for n < 0 or an n that the type cannot hold.
    """
    dtype = np.dtype(dtype)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    _check_permutation(n, dtype)
    require(dtype, NUMBERS, "randperm")
    gen = resolve(gen)
    if n >= WIDE_PERMUTATION:
        return cast(_wide_permutation(gen, n), dtype)
    if n < 2:
        return np.zeros(n, dtype)
    with gen.lock:
        words = gen.words(n - 1)
    shuffle = random_order.value
    if shuffle is not None:
        order = np.arange(n)
        shuffle(words, order)
        return order if dtype is _INT64 else cast(order, dtype)
    steps = np.arange(n - 1, dtype=np.uint32)
    words %= np.uint32(n) - steps
    words += steps
    return cast(_swap_all(words), dtype)


def _swap_all(there: np.ndarray) -> np.ndarray:
    """0 ... n - 1 after swapping, for i = 0 ... n - 2 in turn, the items at i and at there[i] >= i.

    Shape: there (n - 1,) with n < 2**31 -> integers (n,)

    Swap i moves the item that it finds at i to there[i], and what it finds there is final at i. It finds the item that
    the latest earlier swap with the same target moved, or the one that was there from the start. So the items follow
    chains of swaps, which resolve all at once by pointer doubling.
    """
    n = there.size + 1
    if n <= _FEW:
        order = list(range(n))
        for i, j in enumerate(there.tolist()):
            order[i], order[j] = order[j], order[i]
        return np.array(order, np.int64)
    step = np.arange(n, dtype=np.int32)
    target = np.append(there, np.uint32(n - 1)).astype(np.int32)
    by_target = np.sort(target.astype(np.int64) << 32 | step)
    swap, to = by_target.astype(np.int32), (by_target >> 32).astype(np.int32)
    again = np.flatnonzero(to[1:] == to[:-1])
    earlier = np.full(n, -1, np.int32)  # of each swap, the latest earlier one with its target
    earlier[swap[again + 1]] = swap[again]
    latest = np.full(n, -1, np.int32)  # of each place i, the latest swap before swap i that moved an item to it
    latest[to] = swap  # of several values for one place, the last one stays
    latest = np.where(latest == step, earlier, latest)
    item = np.where(latest < 0, step, latest)
    while True:
        further = item[item]
        if np.array_equal(further, item):
            break
        item = further
    return np.where(earlier < 0, target, item[earlier])


def _wide_permutation(gen: Generator, n: int, strip: int = 1 << 20) -> np.ndarray:
    """The inside-out form with two words a step, which torch takes from WIDE_PERMUTATION on."""
    order = np.empty(n, np.int64)
    cells = order.data
    with gen.lock:
        for start in range(0, n, strip):
            steps = np.arange(start, min(start + strip, n), dtype=np.uint64)
            places = words64(gen.words(2 * steps.size)) % (steps + np.uint64(1))
            for here, there in enumerate(places.tolist(), start):
                cells[here] = cells[there] if there < here else here
                cells[there] = here
    return order


def _check_permutation(n: int, dtype: np.dtype) -> None:
    if name_of(dtype) in ("float16", "float32", "float64"):
        digits = mantissa(dtype)
        if n > (1 << digits) + 1:
            limit = "2049" if digits == 11 else f"2^{digits}+1"
            raise RuntimeError(f"n cannot be greater than {limit} for {torch_name(dtype)} type.")
    elif name_of(dtype) in INTEGRAL and n > 0 and not _converts(n, dtype):
        raise RuntimeError(f"value cannot be converted to type {name_of(dtype)}_t without overflow")


def _converts(n: int, dtype: np.dtype) -> bool:
    return n - 1 <= int(np.iinfo(dtype).max)
