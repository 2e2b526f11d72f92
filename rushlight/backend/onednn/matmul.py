"""Products of matrices and of batches of them, in float32 and bfloat16, where they are large enough to gain from oneDNN.

Measured against NumPy's OpenBLAS, one thread each, for x @ y and, in brackets, x @ w.T with w contiguous, in us:
(64, 784) @ (784, 128): 74 (89), OpenBLAS 104 (139); (32, 2048) @ (2048, 1000): 1120 (1200), 1290 (2020);
1024 cubed: 14000 (13400), 14400 (14300). Small products are better left to OpenBLAS: (4, 400) @ (400, 120) takes 6.8
(12.2), OpenBLAS 5.9 (5.2). In bfloat16 OpenBLAS needs copies in float32, and the tile units (AMX) are faster than it.

OpenBLAS's kernels for AVX-512, but not those for AVX2, are slow at a transposed weight: (8, 256) @ (256, 256) takes it 10 (43),
oneDNN 14 (20); (28, 128) @ (128, 384) 31 (50), 29 (34); (512, 64) @ (64, 256) (201), (159). For results of up to 1,200 elements
it has others, twice as fast as a call of oneDNN: (8, 784) @ (784, 128) (18), oneDNN (31). Both have the same bits up to 128 terms.
"""

import math

import numpy as np

from .. import isa
from . import calls
from .calls import BFLOAT16, FLOAT32, Call, code_of
from .precision import fpmath
from .primitives import BIAS, DST, SRC, WEIGHTS, plain, primitive_desc, strided

__all__ = ["SMALL_MULTIPLY_ADDS", "WORTHWHILE_ELEMENTS", "batched_matmul", "has_small_kernel", "matmul"]

SMALL_MULTIPLY_ADDS = 300_000  # below, a product is OpenBLAS's in compiled steps, too
_WORTHWHILE_MULTIPLY_ADDS = 2_500_000
_WORTHWHILE_MULTIPLY_ADDS_BFLOAT16 = 100_000
_TRANSPOSED_MULTIPLY_ADDS = 500_000
_TRANSPOSED_MULTIPLY_ADDS_OF_FEW, _FEW_ROWS = 250_000, 32  # up to so many rows
_LEAST_COLUMNS = 64
_SMALL_RESULT, _SMALL_PRODUCT = 1_200, 1_000_000  # elements and multiply-adds, up to which OpenBLAS has other kernels
WORTHWHILE_ELEMENTS = 16_384


def is_worthwhile(elements: int, work: int) -> bool:
    """Whether a product of float32, of this many multiply-adds and elements of its factors together, is oneDNN's."""
    return elements >= WORTHWHILE_ELEMENTS and work >= _WORTHWHILE_MULTIPLY_ADDS


def matmul(x, y, bias=None):
    """x @ y for matrices, contiguous or transposed views of contiguous ones, of 2.5 million multiply-adds or more (in
    bfloat16 of 100,000; by a transposed weight, with AVX-512, of 500,000, or 250,000 for few rows).

    A bias (m,) is added on the way: up to a tenth less than in a pass of its own, and in bfloat16 rounded once only.
    The matrices must also hold 16,384 elements together: thinner products are bound by memory.

    NotImplemented for everything else, and where oneDNN is missing.
    """
    if x.size + y.size < WORTHWHILE_ELEMENTS:
        return NotImplemented
    kind, work = x.dtype, x.size * y.shape[-1]
    if y.dtype != kind or x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0]:
        return NotImplemented
    is_large = kind == FLOAT32 and is_worthwhile(x.size + y.size, work)
    if not (is_large or _is_slow_in_openblas(x, y, work) or _is_enough_in_bfloat16(kind, work)):
        return NotImplemented
    x, y = _dense(x), _dense(y)
    in_rows = x.flags.c_contiguous, y.flags.c_contiguous
    signature = ("matmul", x.shape, in_rows[0], y.shape, in_rows[1], kind, bias is not None, fpmath())
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _product)
    if not call:
        return NotImplemented
    return call(x, y) if bias is None else call(x, y, np.ascontiguousarray(bias))


def batched_matmul(x, y):
    """x @ y for batches (*, n, k) and (*, k, m) alike in the leading axes, as many multiply-adds as for `matmul`.

    NotImplemented for everything else, and where oneDNN is missing. np.matmul multiplies one matrix after another, on
    one thread: 1.3 ms for 64 times (128 x 64) @ (64 x 128), for which oneDNN takes 0.95 on one thread.
    """
    kind, work = x.dtype, x.size * y.shape[-1]
    if x.ndim < 3 or x.ndim != y.ndim or y.dtype != kind:
        return NotImplemented
    if x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        return NotImplemented
    if not ((kind == FLOAT32 and is_worthwhile(x.size + y.size, work)) or _is_enough_in_bfloat16(kind, work)):
        return NotImplemented
    x, x_in_rows = _dense_batch(x)
    y, y_in_rows = _dense_batch(y)
    signature = ("batched_matmul", x.shape, x_in_rows, y.shape, y_in_rows, kind, fpmath())
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _batch)
    return call(x, y) if call else NotImplemented


def has_small_kernel(rows: int, columns: int, terms: int) -> bool:
    """Whether OpenBLAS has one of its quick kernels for so few rows by a transposed weight, in float32 with AVX-512."""
    return (
        rows * columns <= _SMALL_RESULT
        and terms >= 32
        and rows * columns * terms <= _SMALL_PRODUCT
        and isa.has_avx512()
    )


def _is_slow_in_openblas(x, y, work):
    """Whether it is a product in float32 by a transposed weight that is not small, on a processor with AVX-512."""
    return (
        x.dtype == FLOAT32
        and work >= (_TRANSPOSED_MULTIPLY_ADDS_OF_FEW if len(x) <= _FEW_ROWS else _TRANSPOSED_MULTIPLY_ADDS)
        and y.shape[1] >= _LEAST_COLUMNS
        and not has_small_kernel(len(x), y.shape[1], x.shape[1])
        and not y.flags.c_contiguous
        and x.flags.c_contiguous
        and y.flags.f_contiguous
        and isa.has_avx512()
    )


def _is_enough_in_bfloat16(kind, work):
    return kind == BFLOAT16 and work >= _WORTHWHILE_MULTIPLY_ADDS_BFLOAT16


def _dense(x):
    """x, or a contiguous copy if neither x nor its transpose is contiguous."""
    return x if x.flags.c_contiguous or x.flags.f_contiguous else np.ascontiguousarray(x)


def _dense_batch(x):
    """(x or a copy, whether its rows are contiguous rather than its columns)."""
    if x.flags.c_contiguous:
        return x, True
    return (x, False) if x.swapaxes(-1, -2).flags.c_contiguous else (np.ascontiguousarray(x), True)


def _batch(x_shape, x_in_rows, y_shape, y_in_rows, kind, mode):
    shape, code = (*x_shape[:-1], y_shape[-1]), code_of(kind)
    count = math.prod(shape[:-2])
    x, y = _batch_layout(count, x_shape, x_in_rows, code), _batch_layout(count, y_shape, y_in_rows, code)
    out = plain((count, *shape[-2:]), code)
    with calls.thread.sized_for(math.prod(shape) * x_shape[-1]):
        desc = primitive_desc("matmul", x, y, None, out, fpmath=mode)
        return desc and Call(desc, [(SRC, x), (WEIGHTS, y)], [(DST, out, shape, kind)])


def _batch_layout(count, shape, in_rows, code):
    n, k = shape[-2:]
    return plain((count, n, k), code) if in_rows else strided((count, n, k), (n * k, 1, n), code)


def _product(x_shape, x_in_rows, y_shape, y_in_rows, kind, with_bias, mode):
    shape, code = (x_shape[0], y_shape[1]), code_of(kind)
    x, y, out = _layout(x_shape, x_in_rows, code), _layout(y_shape, y_in_rows, code), plain(shape, code)
    bias = plain((1, shape[1]), code) if with_bias else None
    inputs = [(SRC, x), (WEIGHTS, y), *([(BIAS, bias)] if with_bias else [])]
    with calls.thread.sized_for(math.prod(shape) * x_shape[1]):
        desc = primitive_desc("matmul", x, y, bias, out, fpmath=mode)
        return desc and Call(desc, inputs, [(DST, out, shape, kind)])


def _layout(shape, in_rows, code):
    return plain(shape, code) if in_rows else strided(shape, (1, shape[0]), code)
