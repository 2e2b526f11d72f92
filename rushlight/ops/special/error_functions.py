"""The error function and its family: erf, erfc, erfinv, erfcx, ndtr, log_ndtr, ndtri.

float32 has short formulas of its own where they are exact to a few units in the last place (erf); everything else is
computed in float64 and rounded. The tables are in `special_tables.py`.
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.op import unary
from ..pointwise.building_blocks import COMPUTE_BOUND, F32, SOME, in_chunks, in_memory_order, pieced
from . import special_tables as tables
from .series import chebyshev, in_double, polynomial

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)

# erf(x) = x P(x^2) / Q(x^2) for |x| < 4: 6 units in the last place of float32 at most, 1 typically
_ERF_P = (
    1.1283790945934244, 0.20711213952881113, 0.05152312276239129, 0.003989994944158837, 0.00014727120049660132,
    -1.942232763724055e-06, 1.9110857627706453e-08,
)  # fmt: skip
_ERF_Q = (
    1.0,
    0.5168796082595427,
    0.11796529904115621,
    0.014956927110382956,
    0.001020967575739967,
)
# erf(x) / x in x^2 for |x| < 1, to double precision
_ERF_SMALL = (
    1.1283791670955126, -0.3761263890318375, 0.11283791670954882, -0.026866170645077334, 0.005223977624823223,
    -0.0008548326981129666, 0.00012055331122299266, -1.4925595519506043e-05, 1.6461004480962034e-06,
    -1.6350354461959655e-07, 1.4660051998394848e-08, -1.1373902296430911e-09, 5.958930743134941e-11,
)  # fmt: skip


@in_memory_order
def erf_of(x):
    """The error function of an array of floats."""
    if x.dtype is F32:
        if x.size <= 100 and (not x.ndim or type(x) is np.ndarray):
            return np.array(list(map(math.erf, x.reshape(-1).tolist())), F32).reshape(x.shape)
        r = np.empty(x.shape, F32, like=x)
        if x.flags.c_contiguous:
            in_chunks(_erf32, (r, x))
        else:
            _erf32(r, x)
        return r
    if x.dtype.itemsize == 2:
        return erf_of(x.astype(F32)).astype(x.dtype)
    small = np.abs(x) < 1
    near = x * polynomial(np.where(small, x * x, 0.0), _ERF_SMALL)
    return np.where(small, near, np.copysign(1 - erfc_positive(np.where(small, 1.0, np.abs(x))), x))


def _erf32(out, x):
    c = np.minimum(x, 4)
    np.maximum(c, -4, out=c)
    u = c * c
    p = u * _ERF_P[-1]
    for k in _ERF_P[-2:0:-1]:
        p += k
        p *= u
    p += _ERF_P[0]
    p *= c
    q = u * _ERF_Q[-1]
    for k in _ERF_Q[-2:0:-1]:
        q += k
        q *= u
    q += 1
    np.true_divide(p, q, out)
    np.minimum(out, 1, out=out)
    np.maximum(out, -1, out=out)


def erfcx_positive(x):
    """exp(x**2) erfc(x) for x >= 0."""
    t = np.where(np.isinf(x), 1.0, (x - 4) / (x + 4))
    return np.where(np.isnan(x), x, chebyshev(t, tables.ERFCX) / (1 + 2 * x))


def _exp_minus_square(x):
    """exp(-x**2) without the rounding error of the square."""
    head = np.trunc(x * 16) / 16
    r = np.exp(-head * head) * np.exp(-(x - head) * (x + head))
    return np.where(np.abs(x) > 40, 0.0, r)


def erfc_positive(x):
    return np.where(x > 27.3, 0.0, erfcx_positive(x) * _exp_minus_square(np.minimum(x, 30)))


@in_double
def erfc_of(x):
    """1 - erf(x), exact for large x."""
    small = np.abs(x) < 0.5
    near = 1 - x * polynomial(np.where(small, x * x, 0.0), _ERF_SMALL)
    tail = erfc_positive(np.abs(x))
    return np.where(small, near, np.where(x < 0, 2 - tail, tail))


@in_double
def erfcx_of(x):
    """exp(x**2) erfc(x)."""
    right = erfcx_positive(np.abs(x))
    return np.where(x >= 0, right, np.where(np.isnan(x), x, 2 * np.exp(x * x) - right))


# Wichura, algorithm AS 241 (1988), to double precision: (numerator, denominator) of x / 2 near 0, and of the root of
# -log((1 - |x|) / 2) up to 5 and beyond
_INVERSE = (
    (
        (3.3871328727963666080, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125,
         45921.953931549871457, 67265.770927008700853, 33430.575583588128105, 2509.0809287301226727),
        (1.0, 42.313330701600911252, 687.18700749205790830, 5394.1960214247511077,
         21213.794301586595867, 39307.895800092710610, 28729.085735721942674, 5226.4952788528545610),
    ),
    (
        (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550, 3.64784832476320460504,
         1.27045825245236838258, 0.241780725177450611770, 0.0227238449892691845833, 7.74545014278341407640e-4),
        (1.0, 2.05319162663775882187, 1.67638483018380384940, 0.689767334985100004550,
         0.148103976427480074590, 0.0151986665636164571966, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
    ),
    (
        (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580, 0.296560571828504891230,
         0.0265321895265761230930, 0.00124266094738807843860, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
        (1.0, 0.599832206555887937690, 0.136929880922735805310, 0.0148753612908506148525,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
    ),
)  # fmt: skip


@pieced
@in_double
def erfinv_of(x):
    """The inverse of the error function."""
    size = np.abs(x)
    centre = np.minimum(size, 0.85)
    inside = 0.5 * x * _ratio(0.180625 - 0.25 * centre * centre, *_INVERSE[0])
    r = np.sqrt(-np.log(0.5 - 0.5 * np.where(size < 1, size, 0.9)))
    near = _ratio(r - 1.6, *_INVERSE[1])
    far = near if x.dtype.itemsize < 8 else _ratio(r - 5, *_INVERSE[2])
    tail = np.where(size < 1, np.where(r <= 5, near, far), np.where(size == 1, np.inf, np.nan))
    return np.where(size > 0.85, np.copysign(tail, x), inside) * _ROOT_HALF


def _ratio(x, numerator, denominator):
    return polynomial(x, numerator) / polynomial(x, denominator)


erf = unary(
    "erf",
    erf_of,
    lambda g, x: _TWO_OVER_ROOT_PI * (-(x * x)).exp() * g,
    """The error function of each element: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to it.

    >>> erf(tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """,
    jit_min_elements=SOME,
)
erfc = unary(
    "erfc",
    erfc_of,
    lambda g, x: -_TWO_OVER_ROOT_PI * (-(x * x)).exp() * g,
    """1 - erf(input) of each element, exact where that is near 0.

    >>> erfc(tensor([0.0, 3.0]))
    tensor([1.0000e+00, 2.2090e-05])
    """,
    **COMPUTE_BOUND,
)
erfinv = unary(
    "erfinv",
    erfinv_of,
    lambda g, x: 1 / _TWO_OVER_ROOT_PI * x.erfinv().square().exp() * g,
    """The inverse of `erf`: infinite at -1 and 1, nan beyond.

    >>> erfinv(tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.4769,    inf])
    """,
    **COMPUTE_BOUND,
)
_erfcx = unary(
    "special_erfcx", erfcx_of, lambda g, x, out: g * (2 * x * out - _TWO_OVER_ROOT_PI), """exp(input^2) * erfc(input) of each element, without overflow.

    >>> special.erfcx(tensor([0.0, 30.0]))
    tensor([1.0000, 0.0188])
    """,
    method=False, inplace=False,
    **COMPUTE_BOUND,
)  # fmt: skip


def _ndtr(x):
    one, half = x.dtype.type(1), x.dtype.type(0.5)  # torch's steps, which lose the lower tail: at -6 float32 gives 0
    return (one + erf_of(x / x.dtype.type(math.sqrt(2)))) * half


@in_double
def _log_ndtr(x):
    t = x * _ROOT_HALF
    left = np.minimum(t, -0.5)
    return np.where(
        x < -1,
        np.log(erfcx_of(-left) / 2) - left * left,
        np.log1p(-erfc_of(np.maximum(t, -1)) / 2),
    )


@in_double
def _ndtri(p):
    tail = np.minimum(p, 1 - p)
    centre = math.sqrt(2) * erfinv_of(2 * p - 1)
    y = np.where(tail < 0.02, np.copysign(_tail_quantile(np.clip(tail, 0, 0.1)), p - 0.5), centre)
    return np.where(
        (p < 0) | (p > 1),
        np.nan,
        np.where(p == 0, -np.inf, np.where(p == 1, np.inf, y)),
    )


def _tail_quantile(p):
    """x > 0 with P(X > x) = p for small p, by Newton's method on log p."""
    x = np.sqrt(np.maximum(-2 * np.log(np.maximum(p, 1e-320)), 1.0))
    for _ in range(8):
        scaled = erfcx_positive(x * _ROOT_HALF) / 2
        error = np.log(scaled) - x * x / 2 - np.log(np.maximum(p, 1e-320))
        x = x + error * scaled * math.sqrt(2 * math.pi)
    return x


_ROOT_TWO_PI = math.sqrt(2 * math.pi)
_ndtr_op = unary(
    "special_ndtr", _ndtr, lambda g, x: g * ((-0.5 * x * x).exp() / _ROOT_TWO_PI), """The standard normal distribution function of each element: the probability of a smaller value.

    >>> special.ndtr(tensor([0.0, 1.96]))
    tensor([0.5000, 0.9750])
    """,
    method=False, inplace=False, keeps={"x": None},
    **COMPUTE_BOUND,
)  # fmt: skip
_log_ndtr_op = unary(
    "special_log_ndtr", _log_ndtr, lambda g, x, out: g * (1 / _ROOT_TWO_PI) * (-(out + x * x / 2)).exp(),
    """The logarithm of `ndtr`, exact in the lower tail.

    >>> special.log_ndtr(tensor([0.0, -40.0]))
    tensor([-6.9315e-01, -8.0461e+02])
    """, method=False, inplace=False,
    **COMPUTE_BOUND,
)  # fmt: skip
_ndtri_op = unary(
    "special_ndtri", _ndtri, lambda g, out: g * (_ROOT_TWO_PI * (0.5 * out * out).exp()),
    """The inverse of `ndtr`: the quantile of the standard normal distribution; infinite at 0 and 1, nan beyond.

    >>> special.ndtri(tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """, method=False, inplace=False,
    **COMPUTE_BOUND,
)  # fmt: skip
