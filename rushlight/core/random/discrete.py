"""Draws from discrete distributions that take a fixed number of words a value."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..dispatch.extension_points import random_trials
from ..tensor.casting import dense_like
from .continuous import SCALAR_VALUES, canonical32, canonical64, exponential, few_exponentials, uniform64
from .layout import FLOATING, NUMBERS, NUMBERS_OR_BOOL, cast, count, name_of, require, store, torch_name
from .libm import libm
from .mersenne import WORDS, Generator, resolve

MOST_CATEGORIES = 1 << 24
_STRIP = 105 * WORDS // 2  # trials: their words, whole blocks, and temporaries stay in the second-level cache


def bernoulli(gen: Generator | None, shape: Any, dtype: Any, p: float = 0.5) -> np.ndarray:
    """1 with probability p, else 0, as `bernoulli_(p)`: two words a value. Raises RuntimeError for p outside [0, 1]."""
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    if n == 0:
        return np.empty(shape, dtype)
    require(dtype, NUMBERS_OR_BOOL, "bernoulli_scalar_cpu_")
    out = np.empty(shape, dtype)
    fill_with_trials(resolve(gen), out.reshape(-1), p)
    return out


def fill_with_trials(gen: Generator, out: np.ndarray, p: float) -> None:
    """Write 1 with probability p, else 0. Shape: out (n,)

    A trial succeeds where its 53-bit integer is below p 2**53. The high 21 bits decide all but one in 2**21.
    """
    high_limit, low_limit = _limits(float(p))
    decide = random_trials.value or decide_by_numpy
    with gen.lock:
        end = min(out.size, gen.words_left() // 2 or _STRIP)  # whole blocks after that
        start = 0
        while start < out.size:
            part = out[start:end]
            words = gen.words(2 * part.size)
            decide(words, part, high_limit, low_limit)
            start, end = end, end + _STRIP


def decide_by_numpy(words: np.ndarray, out: np.ndarray, high_limit: np.ndarray, low_limit: int) -> None:
    """Write to `out` whether each trial succeeds.

    Shape: words (2 n,) uint32, out (n,)
    """
    out[...] = _trials(words, high_limit, low_limit)


def _trials(words: np.ndarray, high_limit: np.ndarray, low_limit: int) -> np.ndarray:
    high = words[0::2] & _LOW_21
    trials = high < high_limit
    if low_limit:
        ties = (high == high_limit).nonzero()[0]
        if ties.size:
            trials[ties] = words[1::2][ties] < low_limit
    return trials


_LOW_21 = np.array(0x1FFFFF, np.uint32)


@functools.lru_cache(64)
def _limits(p: float) -> tuple[np.ndarray, int]:
    """What the high word must be below, and for words equal to that the low one. An array: 0.3 us sooner than a number."""
    limit = math.ceil(p * 2.0**53)
    return np.array(limit >> 32, np.uint32), limit & 0xFFFFFFFF


def bernoulli_of(gen: Generator | None, p: np.ndarray, dtype: Any = None, shape: Any = None) -> np.ndarray:
    """1 with probability p[i], else 0, as `torch.bernoulli(p)` and `bernoulli_(p)` of a tensor.

    Shape: p broadcasts to `shape` (default p's). Two words a value for float64 probabilities, one for the others.
    Raises RuntimeError where a probability is outside [0, 1].
    """
    dtype = p.dtype if dtype is None else np.dtype(dtype)
    shape, n = count(p.shape if shape is None else shape)
    if p.shape != shape:
        p = np.broadcast_to(p, shape)
    if n == 0:
        return np.empty(shape, dtype)
    require(dtype, NUMBERS_OR_BOOL, "bernoulli_tensor_cpu_self_")
    require(p.dtype, FLOATING, "bernoulli_tensor_cpu_p_")
    if not (np.minimum.reduce(p, None) >= 0 and np.maximum.reduce(p, None) <= 1):  # nan is neither
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    gen = resolve(gen)
    if p.dtype == np.float64:
        unit = uniform64(gen, n)
    else:
        p = p.astype(np.float32, copy=False)
        with gen.lock:
            unit = canonical32(gen, n)
    return (unit.reshape(shape) < p).astype(dtype, copy=False)


def geometric(gen: Generator | None, shape: Any, dtype: Any, p: float) -> np.ndarray:
    """Trials up to the first success, as `geometric_(p)`. Raises RuntimeError for p outside (0, 1)."""
    dtype, (shape, n) = np.dtype(dtype), count(shape)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    if n == 0:
        return np.empty(shape, dtype)
    require(dtype, NUMBERS, "geometric_cpu")
    # Integers: NumPy's log moves a quotient across an integer about once in 2**40.
    trials = libm("log", uniform64(resolve(gen), n), dtype == np.float64)
    trials /= math.log1p(-p)
    np.ceil(trials, out=trials)
    with np.errstate(over="ignore", invalid="ignore"):
        return cast(trials, dtype).reshape(shape)


def multinomial(gen: Generator | None, p: np.ndarray, num_samples: int, replacement: bool = False) -> np.ndarray:
    """Categories drawn with the weights p, as `torch.multinomial`.

    Shape: p (C,) or (N, C) -> int64 (num_samples,) or (N, num_samples)

    Without replacement, and for one sample, the draw is the largest of p / Exp(1); where several are equal (zero
    weights, 16-bit types) the order among them is ours, the lowest category first. Raises RuntimeError for weights
    that are negative, infinite, NaN or sum to zero, and for more samples than categories.
    """
    _check_multinomial(p, num_samples, replacement)
    shape = (*p.shape[:-1], num_samples)
    if 0 in shape:
        return np.empty(shape, np.int64)
    gen = resolve(gen)
    if replacement and num_samples > 1:
        return _with_replacement(gen, np.atleast_2d(p), num_samples).reshape(shape)
    if num_samples == 1 and p.size == p.shape[-1] <= SCALAR_VALUES and p.dtype == np.float32:
        return np.full(shape, _one_of_few(gen, p))
    wide = p.astype(np.float64)
    if not (np.isfinite(wide) & (wide >= 0)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (wide.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    with np.errstate(divide="ignore", over="ignore"):
        scores = p / store(dense_like(p), exponential(gen, p.shape, p.dtype))
    if num_samples == 1:
        return scores.argmax(-1, keepdims=True).astype(np.int64, copy=False)
    rows = [_largest(row, num_samples) for row in scores.astype(np.float64, copy=False).reshape(-1, p.shape[-1])]
    return np.stack(rows).reshape(shape).astype(np.int64, copy=False)


def _one_of_few(gen: Generator, p: np.ndarray) -> int:
    """The place of the one that is drawn from a row of weights."""
    weights = p.reshape(-1)
    values = weights.tolist()
    if not all(0 <= v < math.inf for v in values):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not any(values):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return int((weights / np.array(few_exponentials(gen, len(values)), np.float32)).argmax())


def _largest(scores: np.ndarray, n: int) -> np.ndarray:
    """The places of the `n` largest, in order, equal ones by place."""
    lowered = -scores
    if n > scores.size >> 2:  # a partition saves nothing then
        return np.argsort(lowered, kind="stable")[:n]
    places = np.flatnonzero(lowered <= np.partition(lowered, n - 1)[n - 1])
    return places[np.argsort(lowered[places], kind="stable")[:n]]


def _with_replacement(gen: Generator, p: np.ndarray, num_samples: int) -> np.ndarray:
    wide = p if p.dtype.itemsize > 2 else p.astype(np.float32)
    if not (wide >= 0).all() and not np.isnan(wide).any():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not np.isfinite(wide).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    cumulative = np.cumsum(wide, axis=-1, dtype=wide.dtype)
    if not (cumulative[:, -1] > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    cumulative /= cumulative[:, -1:].copy()
    cumulative[:, -1] = 1
    with gen.lock:
        units = canonical64(gen, p.shape[0] * num_samples).reshape(-1, num_samples)
    rows = zip(cumulative.astype(np.float64, copy=False), units, strict=True)
    return np.stack([np.searchsorted(row, unit) for row, unit in rows]).astype(np.int64, copy=False)


def _check_multinomial(p: np.ndarray, num_samples: int, replacement: bool) -> None:
    if p.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if name_of(p.dtype) not in FLOATING:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {torch_name(p.dtype)}")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > p.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if p.shape[-1] > MOST_CATEGORIES:
        raise RuntimeError("number of categories cannot exceed 2^24")
