"""Products of float32 matrices and of batches of them, where they are large enough to gain from oneDNN.

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

__all__ = ["WORTHWHILE_ELEMENTS", "batched_matmul", "matmul"]

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


def batched_matmul(x, y):
    """x @ y for batches (*, n, k) and (*, k, m) alike in the leading axes, of 2.5 million multiply-adds or more.

    NotImplemented for everything else, and where oneDNN is missing. np.matmul multiplies one matrix after another, on
    one thread: 1.3 ms for 64 times (128 x 64) @ (64 x 128), for which oneDNN takes 0.95 on one thread.
    """
    if x.ndim < 3 or x.ndim != y.ndim or x.size * y.shape[-1] < _WORTHWHILE_MULTIPLY_ADDS:
        return NotImplemented
    if x.dtype != FLOAT32 or y.dtype != FLOAT32 or x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        return NotImplemented
    x, x_in_rows = _dense_batch(x)
    y, y_in_rows = _dense_batch(y)
    signature = ("batched_matmul", x.shape, x_in_rows, y.shape, y_in_rows)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _batch)
    return call(x, y) if call else NotImplemented


def _dense(x):
    """x, or a contiguous copy if neither x nor its transpose is contiguous."""
    return x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)


def _dense_batch(x):
    """(x or a copy, whether its rows are contiguous rather than its columns)."""
    if x.flags.c_contiguous:
        return x, True
    return (x, False) if x.swapaxes(-1, -2).flags.c_contiguous else (np.ascontiguousarray(x), True)


def _batch(x_shape, x_in_rows, y_shape, y_in_rows):
    shape = (*x_shape[:-1], y_shape[-1])
    count = math.prod(shape[:-2])
    x, y = _batch_layout(count, x_shape, x_in_rows), _batch_layout(count, y_shape, y_in_rows)
    out = plain((count, *shape[-2:]))
    with calls.thread.sized_for(math.prod(shape) * x_shape[-1]):
        desc = primitive_desc("matmul", x, y, None, out)
        return desc and Call(desc, [(SRC, x), (WEIGHTS, y)], [(DST, out, shape, FLOAT32)])


def _batch_layout(count, shape, in_rows):
    n, k = shape[-2:]
    return plain((count, n, k)) if in_rows else strided((count, n, k), (n * k, 1, n))


def _product(x_shape, x_in_rows, y_shape, y_in_rows):
    shape = (x_shape[0], y_shape[1])
    x, y, out = _layout(x_shape, x_in_rows), _layout(y_shape, y_in_rows), plain(shape)
    with calls.thread.sized_for(math.prod(shape) * x_shape[1]):
        desc = primitive_desc("matmul", x, y, None, out)
        return desc and Call(desc, [(SRC, x), (WEIGHTS, y)], [(DST, out, shape, FLOAT32)])


def _layout(shape, in_rows):
    return plain(shape) if in_rows else strided(shape, (1, shape[0]))
