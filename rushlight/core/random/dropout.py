"""The masks of torch's dropout functions: a Bernoulli draw of 1 - p for each element or channel, scaled.

Each function takes the input, of which it uses shape, layout and type. p = 0 and p = 1 draw nothing.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ..tensor.casting import dense_like
from .discrete import fill_with_trials
from .layout import FLOATING, require, store
from .mersenne import Generator, resolve

_ALPHA = 1.7580993408473766  # SELU's scale * alpha


def dropout_mask(gen: Generator | None, x: np.ndarray, p: float = 0.5) -> np.ndarray:
    """The factor of each element of x: 0 with probability p, else 1 / (1 - p), in the layout of x.

    Shape: x (*) -> (*). Raises RuntimeError for p outside [0, 1].
    """
    _check(x, p)
    return _mask(gen, dense_like(x), p)


def feature_dropout_mask(gen: Generator | None, x: np.ndarray, p: float = 0.5) -> np.ndarray:
    """The factor of each channel of x, as dropout1d to dropout3d draw it. Shape: x (N, C, *) -> (N, C, 1...)"""
    _check(x, p)
    return _mask(gen, np.empty(_channels(x), x.dtype), p)


def alpha_dropout_masks(
    gen: Generator | None, x: np.ndarray, p: float = 0.5, feature: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Factor and summand of alpha dropout: the output is x * factor + summand.

    Shape: x (*) -> two of (*); with `feature`, x (N, C, *) -> two of (N, C, 1...)
    """
    _check(x, p)
    keep = np.empty(_channels(x), x.dtype) if feature else dense_like(x)
    if p in (0, 1):
        keep[...] = 1 - p
        return keep, np.zeros_like(keep)
    _draw(gen, keep, 1 - p)
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    summand = _times(keep - keep.dtype.type(1), _ALPHA * a)
    summand = _plus(summand, _ALPHA * a * p)
    return _times(keep, a), summand


def _mask(gen: Generator | None, out: np.ndarray, p: float) -> np.ndarray:
    if p in (0, 1):
        out[...] = 1 - p
        return out
    _draw(gen, out, 1 - p)
    out *= _scale(float(p), out.dtype)
    return out


@functools.lru_cache(64)
def _scale(p: float, dtype: np.dtype) -> np.ndarray:
    """What is kept, divided by 1 - p. An array: 0.3 us sooner than a number."""
    wide = _wide(dtype)
    return np.array(wide(1) / wide(1 - p)).astype(dtype)


def _draw(gen: Generator | None, out: np.ndarray, p: float) -> None:
    if out.flags.c_contiguous:
        return fill_with_trials(resolve(gen), out.reshape(-1), p)
    flat = np.empty(out.size, out.dtype)
    fill_with_trials(resolve(gen), flat, p)
    store(out, flat)


def _wide(dtype: np.dtype) -> type:
    """The type in which torch computes with a number: float32 for the 16-bit types."""
    return np.float64 if dtype == np.float64 else np.float32


def _times(x: np.ndarray, factor: float) -> np.ndarray:
    wide = _wide(x.dtype)
    return (x.astype(wide, copy=False) * wide(factor)).astype(x.dtype, copy=False)


def _plus(x: np.ndarray, summand: float) -> np.ndarray:
    wide = _wide(x.dtype)
    return (x.astype(wide, copy=False) + wide(summand)).astype(x.dtype, copy=False)


def _check(x: np.ndarray, p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    require(x.dtype, FLOATING, "dropout")


def _channels(x: np.ndarray) -> tuple[int, ...]:
    if x.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*x.shape[:2], *(1,) * (x.ndim - 2))
