"""Max and average pooling in one, two and three dimensions, float32, on contiguous arrays (N, C, *).

kernel, stride, padding and dilation are tuples with one entry for each spatial axis. The output's size is torch's:
    out = floor((in + 2 padding - dilation (kernel - 1) - 1) / stride) + 1
with ceil for floor in ceil mode, less a last window that would start in the padding after the input.

As in convolution.py, NotImplemented asks the caller for the reference kernel.
"""

import functools
import math

import numpy as np

from . import calls
from .calls import FLOAT32, Call
from .primitives import (
    DIFF_DST,
    DIFF_SRC,
    DST,
    FORWARD_TRAINING,
    S32,
    SRC,
    U8,
    WORKSPACE,
    dims,
    equal,
    plain,
    primitive_desc,
    wanted_desc,
)

__all__ = [
    "avg_pool_backward",
    "avg_pool_forward",
    "max_pool_backward",
    "max_pool_forward",
    "max_pool_indices",
]

_MAX, _AVERAGE_WITH_PADDING, _AVERAGE = 0x1FF, 0x2FF, 0x3FF
_minimum = np.minimum.reduce
_WORKSPACES = ((U8, np.dtype(np.uint8)), (S32, np.dtype(np.int32)))


def max_pool_forward(x, kernel, stride, padding, dilation, ceil_mode=False):
    """(y, workspace): the windows' maxima, and for each its place in the window, counted row by row from 0.

    NotImplemented also for an x with nan or -inf: oneDNN passes over them, where torch's maximum is nan or -inf.
    """
    if x.dtype != FLOAT32:
        return NotImplemented
    signature = ("max_pool_forward", x.shape, kernel, stride, padding, dilation, ceil_mode)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _max_forward)
    if not call or not _minimum(x, axis=None) > -math.inf:
        return NotImplemented
    return call(x if x.flags.c_contiguous else np.ascontiguousarray(x))


def max_pool_backward(g, workspace, input_shape, kernel, stride, padding, dilation, ceil_mode=False):
    """Gradient with respect to the input, for the gradient g of y and the workspace of max_pool_forward."""
    if g.dtype != FLOAT32:
        return NotImplemented
    places = (workspace.shape, workspace.dtype)
    signature = ("max_pool_backward", g.shape, places, input_shape, kernel, stride, padding, dilation, ceil_mode)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _max_backward)
    if not call:
        return NotImplemented
    return call(g if g.flags.c_contiguous else np.ascontiguousarray(g), np.ascontiguousarray(workspace))


def max_pool_indices(workspace, input_shape, kernel, stride, padding, dilation):
    """torch's indices: the place of each maximum in the input's spatial axes, flattened, as int64.

    Shape: workspace (N, C, *out) -> (N, C, *out)
    """
    sizes, outs = input_shape[2:], workspace.shape[2:]
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    within = _sums([d * step * np.arange(k) for d, step, k in zip(dilation, steps, kernel, strict=True)])
    starts = _sums([(s * np.arange(o) - p) * step for s, o, p, step in zip(stride, outs, padding, steps, strict=True)])
    return within.ravel()[workspace] + starts


def avg_pool_forward(x, kernel, stride, padding, ceil_mode=False, count_include_pad=True):
    """The windows' means; count_include_pad counts the padding's zeros as elements."""
    if x.dtype != FLOAT32:
        return NotImplemented
    signature = ("avg_pool_forward", x.shape, kernel, stride, padding, ceil_mode, count_include_pad)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _avg_forward)
    if not call:
        return NotImplemented
    return call(x if x.flags.c_contiguous else np.ascontiguousarray(x))


def avg_pool_backward(g, input_shape, kernel, stride, padding, ceil_mode=False, count_include_pad=True):
    """Gradient with respect to the input, of input_shape, for the gradient g of the means."""
    if g.dtype != FLOAT32:
        return NotImplemented
    signature = ("avg_pool_backward", g.shape, input_shape, kernel, stride, padding, ceil_mode, count_include_pad)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _avg_backward)
    if not call:
        return NotImplemented
    return call(g if g.flags.c_contiguous else np.ascontiguousarray(g))


def _sums(terms):
    """The array of all sums of one element from each 1-d term, an axis for each term."""
    return functools.reduce(np.add.outer, terms)


# -- what is done once per signature -----------------------------------------------------------------------------------
def _max_forward(x_shape, kernel, stride, padding, dilation, ceil_mode):
    geometry = _Geometry(x_shape, kernel, stride, padding, dilation, ceil_mode)
    if not geometry.valid:
        return None
    with calls.thread.sized_for(geometry.work):
        desc = geometry.forward(_MAX)
        if desc is None:
            return None
        for data_type, dtype in _WORKSPACES:
            layout = plain(geometry.out_shape, data_type)
            if equal(wanted_desc(desc, WORKSPACE), layout.value):
                results = (geometry.result, (WORKSPACE, layout, geometry.out_shape, dtype))
                return Call(desc, [(SRC, plain(x_shape))], results)
        return None


def _max_backward(g_shape, places, x_shape, kernel, stride, padding, dilation, ceil_mode):
    geometry = _Geometry(x_shape, kernel, stride, padding, dilation, ceil_mode)
    data_type = next((number for number, dtype in _WORKSPACES if places == (g_shape, dtype)), None)
    if not geometry.valid or geometry.out_shape != g_shape or data_type is None:
        return None
    inputs = [(DIFF_DST, plain(g_shape)), (WORKSPACE, plain(g_shape, data_type))]
    with calls.thread.sized_for(geometry.work):
        desc = geometry.backward(_MAX)
        return desc and Call(desc, inputs, [(DIFF_SRC, plain(x_shape), x_shape, FLOAT32)])


def _avg_forward(x_shape, kernel, stride, padding, ceil_mode, count_include_pad):
    geometry = _Geometry(x_shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    algorithm = geometry.average(count_include_pad)
    if algorithm is None:
        return None
    with calls.thread.sized_for(geometry.work):
        desc = geometry.forward(algorithm)
        return desc and Call(desc, [(SRC, plain(x_shape))], [geometry.result])


def _avg_backward(g_shape, x_shape, kernel, stride, padding, ceil_mode, count_include_pad):
    geometry = _Geometry(x_shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    algorithm = geometry.average(count_include_pad)
    if algorithm is None or geometry.out_shape != g_shape:
        return None
    with calls.thread.sized_for(geometry.work):
        desc = geometry.backward(algorithm)
        return desc and Call(desc, [(DIFF_DST, plain(g_shape))], [(DIFF_SRC, plain(x_shape), x_shape, FLOAT32)])


class _Geometry:
    """A pooling's shapes and steps in oneDNN's terms."""

    def __init__(self, x_shape, kernel, stride, padding, dilation, ceil_mode):
        outs, after = [], []
        for n, k, s, pad, d in zip(x_shape[2:], kernel, stride, padding, dilation, strict=True):
            span = d * (k - 1) + 1
            room = n + 2 * pad - span
            out = (-(-room // s) if ceil_mode else room // s) + 1
            if ceil_mode and (out - 1) * s >= n + pad:
                out -= 1
            outs.append(out)
            after.append(max(pad, (out - 1) * s + span - n - pad))
        self.x_shape = x_shape
        self.out_shape = (*x_shape[:2], *outs)
        self.result = (DST, plain(self.out_shape), self.out_shape, FLOAT32)
        self.valid = min(*x_shape, *self.out_shape) > 0
        # A comparison in plain memory takes as long as 16 of a convolution's multiply-adds (2 and 30 per ns).
        self.work = 16 * math.prod(self.out_shape) * math.prod(kernel)
        self.padded = any(padding)
        self.overhangs = any(end > start for start, end in zip(padding, after, strict=True))
        self.steps = tuple(dims(values) for values in (stride, kernel, [d - 1 for d in dilation], padding, after))

    def average(self, count_include_pad):
        """The algorithm, or None: torch never counts what hangs over the padding, oneDNN counts it as padding."""
        if not self.valid or (count_include_pad and self.overhangs):
            return None if not self.valid or self.padded else _AVERAGE
        return _AVERAGE_WITH_PADDING if count_include_pad else _AVERAGE

    def forward(self, algorithm):
        return primitive_desc("pooling_forward", FORWARD_TRAINING, algorithm, *self._layouts(), *self.steps)

    def backward(self, algorithm):
        hint = self.forward(algorithm)
        return hint and primitive_desc("pooling_backward", algorithm, *self._layouts(), *self.steps, hint)

    def _layouts(self):
        return plain(self.x_shape), plain(self.out_shape)
