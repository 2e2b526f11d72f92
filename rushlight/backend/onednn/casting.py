"""float32 to bfloat16 and back in one pass over memory.

In us, one thread: 65,536 elements down 9.8, by ml_dtypes' astype 27; a million 229 and 626. With AVX2 a million take oneDNN
44,800. The way up is as quick by astype, which is left to it.
"""

import math

from .. import isa
from . import calls
from .calls import BFLOAT16, FLOAT32, Call
from .primitives import BF16, DST, SRC, plain, reorder_desc

__all__ = ["lower", "to_bfloat16"]

_WORTHWHILE_ELEMENTS = 8192


def to_bfloat16(x):
    """x, contiguous float32 of 8192 elements or more, rounded to bfloat16 (to nearest, ties to even; denormal numbers may become 0).

    NotImplemented for everything else, and where oneDNN is missing, or has no vectors for it.
    """
    if not isa.has_avx512() or x.size < _WORTHWHILE_ELEMENTS or x.dtype != FLOAT32 or not x.flags.c_contiguous:
        return NotImplemented
    signature = ("to_bfloat16", x.shape)
    call = calls.thread.calls.get(signature)
    if call is None:
        call = calls.thread.make(signature, _reorder)
    return call(x) if call else NotImplemented


def lower(x):
    """x as bfloat16, by whatever way is best."""
    result = to_bfloat16(x)
    return x.astype(BFLOAT16) if result is NotImplemented else result


def _reorder(shape):
    size = math.prod(shape)
    source, target = plain((size,)), plain((size,), BF16)
    with calls.thread.sized_for(16 * size):
        desc = reorder_desc(source.value, target.value)
        return Call(desc, [(SRC, source)], [(DST, target, shape, BFLOAT16)])
