"""Softmax along one axis, float32, on contiguous arrays, and the gradients of softmax and log-softmax.

oneDNN's log-softmax itself is not used: its logarithm is off by 2e-6, as much as the loss of a sure network.

As in convolution.py, NotImplemented asks the caller for the reference kernel; here also for few elements.
"""

import math

import numpy as np

from . import calls
from .calls import FLOAT32, Call
from .primitives import DIFF_DST, DIFF_SRC, DST, FORWARD_TRAINING, SRC, plain, primitive_desc

__all__ = ["WORTHWHILE_ELEMENTS", "softmax", "softmax_backward"]

_maximum = np.maximum.reduce
_SOFTMAX, _LOG_SOFTMAX = 0x30000, 0x30001
# Forward and backward in us: 64 x 64 elements 7.4 and 6.8 (NumPy 15.6 and 6.7), 128 x 128 14 and 9 (38 and 16).
WORTHWHILE_ELEMENTS = 4096
_WORTHWHILE_ELEMENTS_BACKWARD = 16384
_WORK_PER_ELEMENT = 16  # in a convolution's multiply-adds


def softmax(x: np.ndarray, dim: int):
    """exp(x) / sum(exp(x)) along `dim`.

    NotImplemented also for an x with nan or inf: oneDNN gives 0 for nan.
    """
    if x.size < WORTHWHILE_ELEMENTS or x.dtype != FLOAT32 or not x.flags.c_contiguous:
        return NotImplemented
    signature = ("softmax", x.shape, dim)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _forward)
    if not call or not _maximum(x, axis=None) < math.inf:
        return NotImplemented
    return call(x)


def softmax_backward(g: np.ndarray, out: np.ndarray, dim: int, log: bool):
    """Gradient with respect to x, for the gradient g of `out`, the result of `softmax`. Shape: g and out alike."""
    if out.size < _WORTHWHILE_ELEMENTS_BACKWARD or out.dtype != FLOAT32 or g.dtype != FLOAT32 or g.shape != out.shape:
        return NotImplemented
    if not out.flags.c_contiguous:
        return NotImplemented
    signature = ("softmax_backward", out.shape, dim, log)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _backward)
    if not call or not _maximum(out, axis=None) < math.inf:
        return NotImplemented
    return call(np.ascontiguousarray(g), out)


# -- what is done once per signature -----------------------------------------------------------------------------------
def _forward(shape, dim):
    if not -len(shape) <= dim < len(shape):
        return None
    layout = _around(shape, dim)
    with calls.thread.sized_for(_WORK_PER_ELEMENT * math.prod(shape)):
        desc = _forward_desc(layout, False)
        return desc and Call(desc, [(SRC, layout)], [(DST, layout, shape, FLOAT32)])


def _backward(shape, dim, log):
    if not -len(shape) <= dim < len(shape):
        return None
    layout = _around(shape, dim)
    with calls.thread.sized_for(_WORK_PER_ELEMENT * math.prod(shape)):
        hint = _forward_desc(layout, log)
        algorithm = _LOG_SOFTMAX if log else _SOFTMAX
        desc = hint and primitive_desc("softmax_backward", algorithm, layout, layout, layout, 1, hint)
        return desc and Call(desc, [(DIFF_DST, layout), (DST, layout)], [(DIFF_SRC, layout, shape, FLOAT32)])


def _forward_desc(layout, log):
    return primitive_desc("softmax_forward", FORWARD_TRAINING, _LOG_SOFTMAX if log else _SOFTMAX, layout, layout, 1)


def _around(shape, dim):
    """Descriptor of the array as (axes before, the axis, axes after): axis 1 is the one to be normalised."""
    dim %= len(shape)
    before, after = math.prod(shape[:dim]), math.prod(shape[dim + 1 :])
    return plain((before, shape[dim], after) if after > 1 else (before, shape[dim]))
