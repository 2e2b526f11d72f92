"""Means of windows, and the gradients of means and maxima.

avg_pool_forward(x) -> y                 options: window, stride, padding, ceil_mode, count_include_pad
avg_pool_backward(g) -> dx               the same
max_pool_backward(g, place) -> dx        options: window, stride, padding, dilation, ceil_mode
    Shape: x and dx (N, C, *), y, g and place (N, C, *); place (uint8): of each maximum in its window, row by row

float32, all refs of a call in the same order of axes. The maxima themselves are left to generated loops: oneDNN passes
over nan, and where windows do not overlap loops do the rest too. One thread, oneDNN, forward and backward of maxima in
us, channels-last (plain), windows 2 x 2: (4, 6, 28, 28) 4.5, 25 (13, 18); (4, 16, 10, 10) 1.0, 1.0 (3.9, 4.1);
(32, 64, 32, 32) 348, 471 (1254, 2288); means take a sixth less. So: channels-last, unless there are few channels.
"""

from __future__ import annotations

import math

import numpy as np

from ....backend.onednn.primitives import DIFF_DST, DIFF_SRC, DST, FORWARD_TRAINING, SRC, WORKSPACE, dims, wanted_desc
from ....backend.onednn.primitives import equal as same
from ...graph import Extern, Ref
from .binder import Probe, threads_for
from .descriptors import channels_last_order, is_in_order, layout, primitive_desc

__all__ = ["bind_avg_backward", "bind_avg_forward", "bind_max_backward"]

_MAX, _AVERAGE_WITH_PADDING, _AVERAGE = 0x1FF, 0x2FF, 0x3FF
_F32 = np.dtype(np.float32)


def bind_avg_forward(extern: Extern, binder: Probe) -> bool:
    """Emit the means; False where they cannot be served."""
    (x,), (y,) = extern.operands, extern.results
    return _bind(extern, binder, x, y, _algorithm(extern.options, x.shape, y.shape), None)


def bind_avg_backward(extern: Extern, binder: Probe) -> bool:
    """Emit the gradient of means; False where it cannot be served."""
    (g,), (dx,) = extern.operands, extern.results
    return _bind(extern, binder, dx, g, _algorithm(extern.options, dx.shape, g.shape), g)


def bind_max_backward(extern: Extern, binder: Probe) -> bool:
    """Emit the gradient of maxima; False where it cannot be served."""
    (g, place), (dx,) = extern.operands, extern.results
    return place.dtype == np.uint8 and place.shape == g.shape and _bind(extern, binder, dx, g, _MAX, g, place)


def _bind(extern, binder, x: Ref, y: Ref, algorithm: int | None, g: Ref | None, place: Ref | None = None) -> bool:
    if algorithm is None or any(o is not None for o in extern.onto) or not x.dtype == y.dtype == _F32:
        return False
    orders = channels_last_order(x.ndim), tuple(range(x.ndim))
    refs = [r for r in (x, y, place) if r is not None]
    order = next((o for o in orders if all(is_in_order(r, o) for r in refs)), None)
    source, target = layout(x, order), layout(y, order)
    if order is None or source is None or target is None:
        return False
    steps = _steps(extern.options, x.shape, y.shape)
    with threads_for(16 * y.size * math.prod(extern.options["window"])) as threads:
        desc = primitive_desc("pooling_forward", FORWARD_TRAINING, algorithm, source, target, *steps)
        if g is None:
            if desc is not None:
                arguments = [(SRC, binder.memory(x, source)), (DST, binder.memory(y, target))]
                binder.execute(desc, arguments, threads)
            return desc is not None
        desc = desc and primitive_desc("pooling_backward", algorithm, source, target, *steps, desc)
        if desc is None:
            return False
        arguments = [(DIFF_DST, binder.memory(g, target)), (DIFF_SRC, binder.memory(x, source))]
        if place is not None:
            places = layout(place, order)
            if places is None or not same(wanted_desc(desc, WORKSPACE), places.value):
                return False
            arguments.append((WORKSPACE, binder.memory(place, places)))
        binder.execute(desc, arguments, threads)
    return True


def _steps(options: dict, x: tuple[int, ...], y: tuple[int, ...]) -> tuple:
    window, stride, padding = options["window"], options["stride"], options["padding"]
    dilation = options.get("dilation") or (1,) * len(window)
    after = _behind(options, x, y)
    return tuple(dims(v) for v in (stride, window, [d - 1 for d in dilation], padding, after))


def _behind(options: dict, x: tuple[int, ...], y: tuple[int, ...]) -> list[int]:
    """How far behind the input the last windows reach."""
    window, stride, padding = options["window"], options["stride"], options["padding"]
    dilation = options.get("dilation") or (1,) * len(window)
    axes = zip(x[2:], y[2:], window, stride, padding, dilation, strict=True)
    return [max(p, (out - 1) * s + d * (k - 1) + 1 - n - p) for n, out, k, s, p, d in axes]


def _algorithm(options: dict, x: tuple[int, ...], y: tuple[int, ...]) -> int | None:
    """None: torch never counts what hangs over the padding in ceil mode, oneDNN counts it as padding."""
    padding = options["padding"]
    overhangs = any(b > p for b, p in zip(_behind(options, x, y), padding, strict=True))
    if not options["count_include_pad"] or not any(padding):
        return _AVERAGE
    return None if overhangs else _AVERAGE_WITH_PADDING
