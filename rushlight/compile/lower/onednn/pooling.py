"""The gradient of maxima of windows.

max_pool_backward(g, place) -> dx        options: window, stride, padding, dilation, ceil_mode
    Shape: dx (N, C, *), g and place (N, C, *); place (uint8): of each maximum in its window, row by row

float32, all refs of a call in the same order of axes. The maxima themselves, and means, are left to generated loops:
oneDNN passes over nan, and where windows do not overlap loops do the rest too. One thread, oneDNN, forward and backward
of maxima in us, channels-last (plain), windows 2 x 2: (4, 6, 28, 28) 4.5, 25 (13, 18); (4, 16, 10, 10) 1.0, 1.0 (3.9,
4.1); (32, 64, 32, 32) 348, 471 (1254, 2288). So: channels-last, unless there are few channels.
"""

from __future__ import annotations

import math

import numpy as np

from ....backend.onednn.primitives import DIFF_DST, DIFF_SRC, FORWARD_TRAINING, WORKSPACE, dims, wanted_desc
from ....backend.onednn.primitives import equal as same
from ...ir.graph import Extern
from .binder import Probe, threads_for
from .descriptors import channels_last_order, is_in_order, layout, primitive_desc

__all__ = ["bind_max_backward"]

_MAX = 0x1FF
_F32 = np.dtype(np.float32)


def bind_max_backward(extern: Extern, binder: Probe) -> bool:
    """Emit the gradient; False where it cannot be served."""
    (g, place), (dx,) = extern.operands, extern.results
    if place.dtype != np.uint8 or place.shape != g.shape or extern.onto != (None,) or not dx.dtype == g.dtype == _F32:
        return False
    orders = channels_last_order(dx.ndim), tuple(range(dx.ndim))
    order = next((o for o in orders if all(is_in_order(r, o) for r in (dx, g, place))), None)
    source, target, places = layout(dx, order), layout(g, order), layout(place, order)
    if order is None or source is None or target is None or places is None:
        return False
    steps = _steps(extern.options, dx.shape, g.shape)
    with threads_for(16 * g.size * math.prod(extern.options["window"])) as threads:
        desc = primitive_desc("pooling_forward", FORWARD_TRAINING, _MAX, source, target, *steps)
        desc = desc and primitive_desc("pooling_backward", _MAX, source, target, *steps, desc)
        if desc is None or not same(wanted_desc(desc, WORKSPACE), places.value):
            return False
        memories = (DIFF_DST, binder.memory(g, target)), (DIFF_SRC, binder.memory(dx, source))
        binder.execute(desc, [*memories, (WORKSPACE, binder.memory(place, places))], threads)
    return True


def _steps(options: dict, x: tuple[int, ...], y: tuple[int, ...]) -> tuple:
    window, stride, padding = options["window"], options["stride"], options["padding"]
    dilation = options.get("dilation") or (1,) * len(window)
    after = _behind(options, x, y)
    return tuple(dims(v) for v in (stride, window, [d - 1 for d in dilation], padding, after))


def _behind(options: dict, x: tuple[int, ...], y: tuple[int, ...]) -> list[int]:
    """How far past the input the last windows reach."""
    window, stride, padding = options["window"], options["stride"], options["padding"]
    dilation = options.get("dilation") or (1,) * len(window)
    axes = zip(x[2:], y[2:], window, stride, padding, dilation, strict=True)
    return [max(p, (out - 1) * s + d * (k - 1) + 1 - n - p) for n, out, k, s, p, d in axes]
