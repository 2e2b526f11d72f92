"""Functions of single float32 elements with several NumPy calls each, and their gradients, in one pass over memory.

As in convolution.py, NotImplemented asks the caller for the reference kernel; here also for arrays that are not
contiguous, whose order in memory the result is to keep, and for arrays of few elements.
"""

import numpy as np

from ...core.tensor.strides import innermost_first
from . import calls
from .calls import FLOAT32, Call
from .primitives import DIFF_DST, DIFF_SRC, DST, FORWARD_TRAINING, SRC, plain, primitive_desc

__all__ = [
    "GELU",
    "GELU_TANH",
    "LEAKY_RELU",
    "SWISH",
    "WORTHWHILE_ELEMENTS",
    "WORTHWHILE_ELEMENTS_IF_SIMPLE",
    "elementwise",
    "elementwise_backward",
]

# Not its mish, whose small results are wrong by up to 8e-4 of their size, where NumPy's are by 3e-7.
LEAKY_RELU, GELU_TANH, SWISH, GELU = 0x20, 0x2B, 0x2C, 0x31

# Of 64 x 64 elements, in us: gelu 5 (NumPy 29), but silu 5 (5), leaky_relu 3.9 (2.6).
WORTHWHILE_ELEMENTS = 4096
WORTHWHILE_ELEMENTS_IF_SIMPLE = 16384
# An element takes as long as about so many of a convolution's multiply-adds.
_WORK_PER_ELEMENT = 16


def elementwise(algorithm: int, x: np.ndarray, alpha: float = 0.0, beta: float = 0.0):
    """The function of each element of x; what alpha and beta mean, oneDNN's documentation says."""
    least = WORTHWHILE_ELEMENTS if algorithm in (GELU, GELU_TANH) else WORTHWHILE_ELEMENTS_IF_SIMPLE
    if x.size < least or x.dtype != FLOAT32:
        return NotImplemented
    if not x.flags.c_contiguous:
        order = innermost_first(x.shape, [x.strides])[::-1]
        moved = x.transpose(order)
        r = elementwise(algorithm, moved, alpha, beta) if moved.flags.c_contiguous else NotImplemented
        return r if r is NotImplemented else r.transpose(np.argsort(order))
    signature = ("elementwise", algorithm, x.shape, alpha, beta)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _forward)
    return call(x) if call else NotImplemented


def elementwise_backward(algorithm: int, g: np.ndarray, x: np.ndarray, alpha: float = 0.0, beta: float = 0.0):
    """g times the function's slope at each element of x. Shape: g and x alike."""
    if x.size < WORTHWHILE_ELEMENTS or x.dtype != FLOAT32 or g.dtype != FLOAT32 or g.shape != x.shape:
        return NotImplemented
    if not (x.flags.c_contiguous and g.flags.c_contiguous):
        return NotImplemented
    signature = ("elementwise_backward", algorithm, x.shape, alpha, beta)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _backward)
    return call(g, x) if call else NotImplemented


# -- what is done once per signature -----------------------------------------------------------------------------------
def _forward(algorithm, shape, alpha, beta):
    layout, size = _flat(shape)
    with calls.thread.sized_for(_WORK_PER_ELEMENT * size):
        desc = primitive_desc("eltwise_forward", FORWARD_TRAINING, algorithm, layout, layout, alpha, beta)
        return desc and Call(desc, [(SRC, layout)], [(DST, layout, shape, FLOAT32)])


def _backward(algorithm, shape, alpha, beta):
    layout, size = _flat(shape)
    with calls.thread.sized_for(_WORK_PER_ELEMENT * size):
        hint = primitive_desc("eltwise_forward", FORWARD_TRAINING, algorithm, layout, layout, alpha, beta)
        desc = hint and primitive_desc("eltwise_backward", algorithm, layout, layout, layout, alpha, beta, hint)
        return desc and Call(desc, [(DIFF_DST, layout), (SRC, layout)], [(DIFF_SRC, layout, shape, FLOAT32)])


def _flat(shape):
    """(descriptor of the elements in a row, their number)."""
    size = int(np.prod(shape))
    return plain((size,)), size
