"""Products of 8-bit whole numbers, summed exactly in 32 bits: the instructions VNNI and AMX where there are such."""

import math

import numpy as np

from .. import isa
from . import calls
from .calls import Call
from .primitives import DST, S8, S32, SRC, U8, WEIGHTS, plain, primitive_desc, strided

__all__ = ["integer_matmul"]

_KIND = np.dtype(np.int32)


def integer_matmul(x, w):
    """x @ w.T of a matrix of uint8 and one of int8, both contiguous, as int32; NotImplemented where it would not be exact.

    On processors below AMX some sums of 5000 products were found rounded.
    """
    if isa.effective() != "amx":
        return NotImplemented
    signature = ("integer_matmul", x.shape, w.shape)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _product)
    return call(x, w) if call else NotImplemented


def _product(x_shape, w_shape):
    (n, k), m = x_shape, w_shape[0]
    x, out = plain(x_shape, U8), plain((n, m), S32)
    w = strided((k, m), (1, k), S8)
    with calls.thread.sized_for(math.prod((n, k, m))):
        desc = primitive_desc("matmul", x, w, None, out)
        return desc and Call(desc, [(SRC, x), (WEIGHTS, w)], [(DST, out, (n, m), _KIND)])
