"""Pooling as loops over windows: one expression of all taps."""

from __future__ import annotations

from itertools import product as places
from math import prod

import numpy as np

from ..expression import cast, load
from ..graph import Loop, Ref, Store, Value
from ..lazy import Builder, Lazy, Untraceable
from .table import rule

_MOST_TAPS = 64


def _tap(x: Lazy, at, outs, stride, dilation) -> Lazy:
    key = tuple(slice(r * d, r * d + (o - 1) * s + 1, s) for r, o, s, d in zip(at, outs, stride, dilation, strict=True))
    return x[(..., *key)]


def _simple(x, window, stride, padding, dilation, ceil_mode):
    """Sizes of the result where no window reaches outside."""
    n = len(window)
    if any(padding) or prod(window) > _MOST_TAPS or x.dtype.kind != "f" or x.dtype.itemsize == 2 or not x.size:
        raise Untraceable("a pool with padding or many taps")
    spans = [d * (k - 1) + 1 for d, k in zip(dilation, window, strict=True)]
    outs = [(size - span) // s + 1 for size, span, s in zip(x.shape[-n:], spans, stride, strict=True)]
    if ceil_mode and any((size - span) % s for size, span, s in zip(x.shape[-n:], spans, stride, strict=True)):
        raise Untraceable("a pool with windows that reach outside")
    return outs


@rule("max_pool2d", "max_pool3d")
def max_pool(b, input, window, stride, padding, dilation, ceil_mode):
    outs = _simple(input, window, stride, padding, dilation, ceil_mode)
    best = place = None
    for k, at in enumerate(places(*map(range, window))):
        here = _tap(input, at, outs, stride, dilation)
        if best is None:
            best, place = here, b.constant(0, np.uint8, here.shape)
            continue
        better = (here > best) | np.isnan(here)
        best, place = np.where(better, here, best), np.where(better, np.uint8(k), place)
    return best, place


@rule("max_pool.values")
def max_pool_values(b, input, window, stride, padding, dilation, ceil_mode):
    outs = _simple(input, window, stride, padding, dilation, ceil_mode)
    best = None
    for at in places(*map(range, window)):
        here = _tap(input, at, outs, stride, dilation)
        best = here if best is None else np.maximum(best, here)
    return best


def _apart(shape, window, stride, dilation) -> bool:
    """Whether the windows tile the input."""
    n = len(window)
    return (
        stride == window and set(dilation) == {1} and all(m % k == 0 for m, k in zip(shape[-n:], window, strict=True))
    )


def _tiled(x: Lazy, window) -> Lazy:
    """x (*, o...) repeated within windows: (*, o1, k1, o2, k2, ...)."""
    n = len(window)
    lead, outs = x.shape[: x.ndim - n], x.shape[x.ndim - n :]
    split = [m for o in outs for m in (o, 1)]
    full = [m for o, k in zip(outs, window, strict=True) for m in (o, k)]
    return x.reshape(*lead, *split).broadcast_to((*lead, *full))


@rule("max_pool.backward")
def max_pool_backward(b, g, input, place, window, stride, padding, dilation, ceil_mode):
    outs = _simple(input, window, stride, padding, dilation, ceil_mode)
    shape, n = input.shape, len(window)
    if _apart(shape, window, stride, dilation) and prod(window) < 256:
        g, place = _tiled(g, window), _tiled(place, window)
        within = b.constant(0, np.int32, g.shape)
        for i, k in enumerate(window):
            within = within * np.int32(k) + b.positions(g.shape, g.ndim - 2 * n + 2 * i + 1)
        return np.where(place == within.astype(np.uint8), g, g.dtype.type(0)).reshape(shape)
    parts = [
        (at, np.where(place == np.uint8(k), g, g.dtype.type(0))) for k, at in enumerate(places(*map(range, window)))
    ]
    return _scattered(b, parts, shape, outs, stride, dilation)


def _scattered(b: Builder, parts, shape, outs, stride, dilation) -> Lazy:
    """Zeros of `shape` with each part added at its tap of every window."""
    value = b.store(b.constant(0, parts[0][1].dtype, shape)).value
    for at, part in parts:
        new = Value(shape, value.dtype)
        window = _tap(b.lazy(value.ref()), at, outs, stride, dilation).expr.data
        target = Ref(new, window.shape, window.strides, window.offset)
        expr = cast((b.lazy(window) + part).expr, value.dtype)
        b.nodes.append(Loop(part.shape, [Store(target, expr, value if not target.covers() else None)]))
        value = new
    return Lazy(b, shape, load(value.ref()))


def _mean_of(x, window, divisor_override):
    return x.dtype.type(divisor_override or prod(window))


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(b, input, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    dilation = (1,) * len(window)
    outs = _simple(input, window, stride, padding, dilation, ceil_mode)
    total = None
    for at in places(*map(range, window)):
        here = _tap(input, at, outs, stride, dilation)
        total = here if total is None else total + here
    return total / _mean_of(input, window, divisor_override)


@rule("avg_pool.backward")
def avg_pool_backward(b, g, input, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    dilation = (1,) * len(window)
    outs = _simple(input, window, stride, padding, dilation, ceil_mode)
    g = g / _mean_of(g, window, divisor_override)
    if _apart(input.shape, window, stride, dilation):
        return _tiled(g, window).reshape(input.shape)
    parts = [(at, g) for at in places(*map(range, window))]
    return _scattered(b, parts, input.shape, outs, stride, dilation)
