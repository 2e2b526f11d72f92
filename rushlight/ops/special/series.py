"""What special functions are built from: work in float64, polynomials and Chebyshev series."""

from __future__ import annotations

import numpy as np

from ...core.tensor import dtype as dtypes
from ...core.tensor.casting import cast, cast_like
from ..pointwise.building_blocks import F64


def in_double(kernel):
    """A kernel that works in float64 whatever the float type, and rounds once."""

    def run(a, *rest):
        d = a.dtype
        if type(a) is np.ndarray and a.ndim > 1 and 0 in a.strides:
            a = cast_like(a, d)  # repeated elements have no order in memory that results could follow
        if d is F64:
            return kernel(a, *rest)
        rest = [b.astype(F64) if isinstance(b, np.ndarray) else b for b in rest]
        r = kernel(a.astype(F64), *rest)
        return (np.asarray(r) if isinstance(r, np.generic) else r).astype(d)

    run.__name__, run.__doc__, run.__module__ = (
        kernel.__name__,
        kernel.__doc__,
        kernel.__module__,
    )
    return run


def as_float(a):
    """The array, integers in the default float type."""
    return cast(a, dtypes.get_default_dtype().numpy) if a.dtype.kind in "biu" else a


def polynomial(x, coefficients):
    """c[0] + c[1] x + c[2] x**2 ..."""
    r = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        r *= x
        r += c
    return r


def chebyshev(t, coefficients):
    """sum c[k] T_k(t), by Clenshaw's recurrence."""
    b1 = np.zeros_like(t)
    b2 = b1
    t2 = 2 * t
    for c in coefficients[:0:-1]:
        b1, b2 = t2 * b1 - b2 + c, b1
    return t * b1 - b2 + coefficients[0]
