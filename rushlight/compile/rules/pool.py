"""Pooling as loops over windows: one expression of all taps."""

from __future__ import annotations

from itertools import product as places
from math import prod
from typing import Any

import numpy as np

from ...ops.spatial.pool import outputs
from ..ir.expression import cast, load
from ..ir.graph import Loop, Ref, Store, Value
from ..ir.lazy import Builder, Lazy, Untraceable, maximum, minimum, where
from .joining import surrounded
from .table import rule

_MOST_TAPS = 64


def _tap(x: Lazy, at, outs, stride, dilation) -> Lazy:
    key = tuple(slice(r * d, r * d + (o - 1) * s + 1, s) for r, o, s, d in zip(at, outs, stride, dilation, strict=True))
    return x[(..., *key)]


def _outputs(x: Lazy, window, stride, padding, dilation, ceil_mode) -> tuple[int, ...]:
    """How many windows there are along each axis."""
    if prod(window) > _MOST_TAPS or x.dtype.kind != "f" or x.dtype.itemsize == 2 or not x.size:
        raise Untraceable("a pool with a large window, or of a dtype other than float32 and float64")
    return outputs(x.shape[-len(window) :], window, stride, padding, dilation, ceil_mode)


def _around(sizes, outs, window, stride, padding, dilation) -> list[tuple[int, int]]:
    """How far the windows reach before and after each axis."""
    axes = zip(sizes, outs, window, stride, padding, dilation, strict=True)
    return [(p, max(0, (o - 1) * s + d * (k - 1) + 1 - n - p)) for n, o, k, s, p, d in axes]


def _inside(around, sizes) -> tuple:
    """The index of what is not padding."""
    return (..., *(slice(low, low + n) for (low, _), n in zip(around, sizes, strict=True)))


def _padded(b: Builder, x: Lazy, outs, window, stride, padding, dilation, value: float) -> Lazy:
    """x with `value` around its last axes, as far as the windows reach."""
    n = len(window)
    sizes = x.shape[-n:]
    around = _around(sizes, outs, window, stride, padding, dilation)
    if not any(map(any, around)):
        return x
    return surrounded(b, x, [(0, 0)] * (x.ndim - n) + around, value)


def _first_places(b: Builder, shape, window, stride, padding, dilation) -> Lazy:
    """The first place of each window that is not padding, counted row by row."""
    place = b.constant(0, np.int32, shape)
    for i, (s, p, d) in enumerate(zip(stride, padding, dilation, strict=True)):
        if p:
            before = b.positions(shape, len(shape) - len(window) + i) * np.int32(s) - np.int32(p)
            before = before if d == 1 else before // np.int32(d)
            place = place + maximum(np.int32(0), -before) * np.int32(prod(window[i + 1 :]))
    return place.astype(np.uint8)


@rule("max_pool2d", "max_pool3d")
def max_pool(b, input, window, stride, padding, dilation, ceil_mode):
    outs = _outputs(input, window, stride, padding, dilation, ceil_mode)
    x = _padded(b, input, outs, window, stride, padding, dilation, -np.inf)
    best: Any = None
    place: Any = None
    for k, at in enumerate(places(*map(range, window))):
        here = _tap(x, at, outs, stride, dilation)
        if best is None:
            best, place = here, _first_places(b, here.shape, window, stride, padding, dilation)
            continue
        better = (here > best) | np.isnan(here)
        best, place = where(better, here, best), where(better, np.uint8(k), place)
    return best, place


@rule("max_pool.values")
def max_pool_values(b, input, window, stride, padding, dilation, ceil_mode):
    outs = _outputs(input, window, stride, padding, dilation, ceil_mode)
    x = _padded(b, input, outs, window, stride, padding, dilation, -np.inf)
    best = None
    for at in places(*map(range, window)):
        here = _tap(x, at, outs, stride, dilation)
        best = here if best is None else maximum(best, here)
    return best


def _apart(shape, window, stride, padding, dilation) -> bool:
    """Whether the windows tile the input."""
    whole = all(m % k == 0 for m, k in zip(shape[-len(window) :], window, strict=True))
    return stride == window and set(dilation) == {1} and not any(padding) and whole


def _tiled(x: Lazy, window) -> Lazy:
    """x (*, o...) repeated within windows: (*, o1, k1, o2, k2, ...)."""
    n = len(window)
    lead, outs = x.shape[: x.ndim - n], x.shape[x.ndim - n :]
    split = [m for o in outs for m in (o, 1)]
    full = [m for o, k in zip(outs, window, strict=True) for m in (o, k)]
    return x.reshape(*lead, *split).broadcast_to((*lead, *full))


@rule("max_pool.backward")
def max_pool_backward(b, g, input, place, window, stride, padding, dilation, ceil_mode):
    outs = _outputs(input, window, stride, padding, dilation, ceil_mode)
    shape, n = input.shape, len(window)
    if _apart(shape, window, stride, padding, dilation) and prod(window) < 256:
        g, place = _tiled(g, window), _tiled(place, window)
        within = b.constant(0, np.int32, g.shape)
        for i, k in enumerate(window):
            within = within * np.int32(k) + b.positions(g.shape, g.ndim - 2 * n + 2 * i + 1)
        return where(place == within.astype(np.uint8), g, g.dtype.type(0)).reshape(shape)
    if input.ndim == n + 2 and input.dtype == np.float32 and set(dilation) == {1}:
        options = {"window": window, "stride": stride, "padding": padding, "dilation": dilation, "ceil_mode": ceil_mode}
        return b.lazy(b.extern("max_pool_backward", (g.ref(), place.ref()), (shape, g.dtype), **options)[0])
    parts = [(at, where(place == np.uint8(k), g, g.dtype.type(0))) for k, at in enumerate(places(*map(range, window)))]
    return _scattered(b, parts, shape, outs, window, stride, padding, dilation)


def _scattered(b: Builder, parts, shape, outs, window, stride, padding, dilation) -> Lazy:
    """Zeros of `shape` with each part added at its tap of every window."""
    sizes, lead = shape[-len(window) :], shape[: -len(window)]
    around = _around(sizes, outs, window, stride, padding, dilation)
    full = (*lead, *(low + n + high for n, (low, high) in zip(sizes, around, strict=True)))
    value = b.store(b.constant(0, parts[0][1].dtype, full)).value
    for at, part in parts:
        new = Value(full, value.dtype)
        here = _tap(b.lazy(value.ref()), at, outs, stride, dilation).expr.data
        target = Ref(new, here.shape, here.strides, here.offset)
        expr = cast((b.lazy(here) + part).expr, value.dtype)
        b.nodes.append(Loop(part.shape, [Store(target, expr, value if not target.covers() else None)]))
        value = new
    return Lazy(b, full, load(value.ref()))[_inside(around, sizes)]


def _means(b: Builder, sums: Lazy, sizes, window, stride, padding, count_include_pad, divisor_override) -> Lazy:
    """Sums of windows (or what replaces them), each divided by how many elements its mean is taken over."""
    number = divisor_override or 1
    varying: Any = None
    for i, (n, k, s, p) in enumerate(() if divisor_override else zip(sizes, window, stride, padding, strict=True)):
        axis = sums.ndim - len(window) + i
        if p == 0 and (sums.shape[axis] - 1) * s + k <= n:
            number *= k
            continue
        start = b.positions(sums.shape, axis) * np.int32(s) - np.int32(p)
        stop = minimum(start + np.int32(k), np.int32(n + p))
        if not count_include_pad:
            start, stop = maximum(start, np.int32(0)), minimum(stop, np.int32(n))
        varying = stop - start if varying is None else varying * (stop - start)
    kind = sums.dtype.type
    return sums / kind(number) if varying is None else sums / (varying.astype(sums.dtype) * kind(number))


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(b, input, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    dilation = (1,) * len(window)
    outs = _outputs(input, window, stride, padding, dilation, ceil_mode)
    x = _padded(b, input, outs, window, stride, padding, dilation, 0)
    total: Any = None
    for at in places(*map(range, window)):
        here = _tap(x, at, outs, stride, dilation)
        total = here if total is None else total + here
    sizes = input.shape[-len(window) :]
    return _means(b, total, sizes, window, stride, padding, count_include_pad, divisor_override)


@rule("avg_pool.backward")
def avg_pool_backward(b, g, input, window, stride, padding, ceil_mode, count_include_pad, divisor_override):
    dilation, shape = (1,) * len(window), input.shape
    outs = _outputs(input, window, stride, padding, dilation, ceil_mode)
    g = _means(b, g, shape[-len(window) :], window, stride, padding, count_include_pad, divisor_override)
    if _apart(shape, window, stride, padding, dilation):
        return _tiled(g, window).reshape(shape)
    parts = [(at, g) for at in places(*map(range, window))]
    return _scattered(b, parts, shape, outs, window, stride, padding, dilation)


@rule("pool_indices")
def pool_indices(b, place, sizes, window, stride, padding, dilation):
    rest, where = place.astype(np.int32), b.constant(0, np.int64, place.shape)
    for i, (s, p, d) in enumerate(zip(stride, padding, dilation, strict=True)):
        m = np.int32(prod(window[i + 1 :]))
        within, rest = rest // m, rest % m
        start = b.positions(place.shape, place.ndim - len(window) + i) * np.int32(s) - np.int32(p)
        where = where + (within * np.int32(d) + start).astype(np.int64) * np.int64(prod(sizes[i + 1 :]))
    return where
