"""Modified Bessel functions of the first kind, I of orders 0 and 1, with gradients; the others are in `bessel.py`."""

from __future__ import annotations

import numpy as np

from ...core.dispatch.op import unary
from ...core.tensor.layout import finfo
from ..pointwise.building_blocks import COMPUTE_BOUND, F32
from ..pointwise.choice import where
from . import special_tables as tables
from .series import chebyshev, in_double


def _scaled_bessel(near, far, odd):
    """exp(-|x|) I_n(x) from the two tables of order n."""

    @in_double
    def kernel(x):
        a = np.abs(x)
        low = np.minimum(a, 8)
        close = chebyshev(low / 4 - 1, near) * (low if odd else 1)
        high = np.maximum(a, 8)
        away = chebyshev(16 / high - 1, far) / np.sqrt(high)
        r = np.where(a <= 8, close, away)
        r = np.where(np.isnan(x), x, r)
        return np.where(x < 0, -r, r) if odd else r

    return kernel


i0e_of = _scaled_bessel(tables.I0_NEAR, tables.I0_FAR, False)
i1e_of = _scaled_bessel(tables.I1_NEAR, tables.I1_FAR, True)


def _overflows_with_exp(kernel):
    """torch multiplies by exp(|x|) in the type of x, which is infinite for smaller numbers than the result."""

    def run(x):
        r = kernel(x)
        return (
            r
            if x.dtype is not F32
            else np.where(np.isfinite(x) & np.isinf(np.exp(np.abs(x))), np.copysign(F32.type(np.inf), r), r)
        )

    return run


@_overflows_with_exp
@in_double
def i0_of(x):
    return i0e_of(x) * np.exp(np.abs(x))


@_overflows_with_exp
@in_double
def i1_of(x):
    return i1e_of(x) * np.exp(np.abs(x))


def _away_from_0(x, slope):
    """slope(x), the derivative of an I1; 1/2 near 0, where it has a quotient of rounded numbers, and at nan, as in torch."""
    tiny = ~(x.abs() > finfo(x.dtype).eps)
    return where(tiny, 0.5, slope(x.masked_fill(tiny, 1)))


i0 = unary(
    "i0",
    i0_of,
    lambda g, x: g * _i1(x),
    """The modified Bessel function of the first kind of order 0 of each element.

    >>> i0(tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """,
    **COMPUTE_BOUND,
)
_i0e = unary(
    "special_i0e",
    i0e_of,
    lambda g, x, out: g * (_i1e(x) - x.sgn() * out),
    """`i0` of each element times exp(-|input|).

    >>> special.i0e(tensor([0.0, 100.0]))
    tensor([1.0000, 0.0399])
    """,
    method=False,
    inplace=False,
    **COMPUTE_BOUND,
)
_i1 = unary(
    "special_i1", i1_of, lambda g, x, out: g * _away_from_0(x, lambda y: i0(y) - out / y),
    """The modified Bessel function of the first kind of order 1 of each element.

    >>> special.i1(tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """, method=False, inplace=False,
    **COMPUTE_BOUND,
)  # fmt: skip
_i1e = unary(
    "special_i1e", i1e_of, lambda g, x, out: g * _away_from_0(x, lambda y: _i0e(y) - out * (y.sgn() + 1 / y)),
    """`i1` of each element times exp(-|input|).

    >>> special.i1e(tensor([0.0, 100.0]))
    tensor([0.0000, 0.0397])
    """, method=False, inplace=False,
    **COMPUTE_BOUND,
)  # fmt: skip
