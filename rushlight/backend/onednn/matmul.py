"""Product of two float32 matrices, where it is large enough to gain from oneDNN.

Measured beside NumPy's OpenBLAS, one thread each, for x @ y and, in brackets, x @ w.T with w contiguous, in us:
(64, 784) @ (784, 128): 74 (89), OpenBLAS 104 (139); (32, 2048) @ (2048, 1000): 1120 (1200), 1290 (2020);
1024 cubed: 14000 (13400), 14400 (14300). Small products are better left to OpenBLAS: (4, 400) @ (400, 120) takes 6.8
(12.2), OpenBLAS 5.9 (5.2).
"""

import math

import numpy as np

from . import calls
from .calls import FLOAT32, Call
from .primitives import DST, SRC, WEIGHTS, plain, primitive_desc, strided

__all__ = ["WORTHWHILE_ELEMENTS", "matmul"]

_WORTHWHILE_MULTIPLY_ADDS = 2_500_000
WORTHWHILE_ELEMENTS = 16_384


def matmul(x, y):
    """x @ y for matrices, contiguous or transposed views of contiguous ones, of 2.5 million multiply-adds or more.
    They must also hold 16,384 elements together: thinner products are bound by memory.

    NotImplemented for everything else, and where oneDNN is missing.
    """
    if x.size + y.size < WORTHWHILE_ELEMENTS:
        return NotImplemented
    if not (x.dtype == FLOAT32 and y.dtype == FLOAT32 and x.ndim == 2 == y.ndim):
        return NotImplemented
    if x.size * y.shape[1] < _WORTHWHILE_MULTIPLY_ADDS or x.shape[1] != y.shape[0]:
        return NotImplemented
    x, y = _dense(x), _dense(y)
    signature = ("matmul", x.shape, x.flags.c_contiguous, y.shape, y.flags.c_contiguous)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _product)
    return call(x, y) if call else NotImplemented


def _dense(x):
    """x, or a contiguous copy if neither x nor its transpose is contiguous."""
    return x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)


def _product(x_shape, x_in_rows, y_shape, y_in_rows):
    shape = (x_shape[0], y_shape[1])
    x, y, out = _layout(x_shape, x_in_rows), _layout(y_shape, y_in_rows), plain(shape)
    with calls.thread.sized_for(math.prod(shape) * x_shape[1]):
        desc = primitive_desc("matmul", x, y, None, out)
        return desc and Call(desc, [(SRC, x), (WEIGHTS, y)], [(DST, out, shape, FLOAT32)])


def _layout(shape, in_rows):
    return plain(shape) if in_rows else strided(shape, (1, shape[0]))
