"""Special functions, vectorised with NumPy: the error function and its family, gamma functions, Bessel functions of order
0 and 1, sigmoid and logit, entropy terms.

float32 uses its own short formulas where they are exact to a few units in the last place (erf); everything else is computed
in float64 and rounded. The tables are in `special_tables.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...core.dispatch.inplace import write
from ...core.dispatch.op import OPS, binary, primitive, publish, unary
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor
from ..pointwise.comparison import where
from ..pointwise.elementary import exp2, expm1, log1p, round
from ..pointwise.helpers import (
    F32,
    F64,
    MANY,
    ONE32,
    ONE64,
    conjugate,
    in_chunks,
    in_memory_order,
    not_implemented,
    pieced,
    widened,
    zero_where,
)
from . import special_tables as tables

_TWO_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ROOT_HALF = math.sqrt(0.5)


def in_double(kernel):
    """A kernel that works in float64 whatever the float type, and rounds once."""

    def run(a, *rest):
        d = a.dtype
        if d is F64:
            return kernel(a, *rest)
        rest = [b.astype(F64) if isinstance(b, np.ndarray) else b for b in rest]
        return np.asarray(kernel(a.astype(F64), *rest)).astype(d)

    run.__name__, run.__doc__, run.__module__ = (
        kernel.__name__,
        kernel.__doc__,
        kernel.__module__,
    )
    return run


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


# ---------------------------------------------------------------------------------------------- sigmoid


@pieced
def sigmoid_of(x):
    """1 / (1 + exp(-x)) of an array."""
    d = x.dtype
    if not x.ndim or (d is not F32 and d is not F64):
        return _sigmoid_of_any(x)
    r = np.negative(x)
    np.exp(r, r)
    np.add(r, ONE32 if d is F32 else ONE64, r)
    return np.reciprocal(r, r)


@widened
def _sigmoid_of_any(x):
    return 1 / (1 + np.exp(-x))


@pieced
def _sigmoid_slope(g, y):
    r = np.subtract(ONE32 if y.dtype is F32 else y.dtype.type(1), y)
    r *= y
    r *= g
    return r


sigmoid_backward = binary(
    "sigmoid_backward", _sigmoid_slope, lambda g, y: sigmoid_backward(g, y), lambda g, x, y: g * x * (1 - 2 * y),
    "The gradient of sigmoid, g * out * (1 - out).", export=False, inplace=False,
)  # fmt: skip


def _sigmoid_rule(g, out):
    if out._array.dtype.kind == "c" or g._array.ndim == 0 or g._array.dtype is not out._array.dtype:
        return g * conjugate((1 - out) * out)
    return sigmoid_backward(g, out)


sigmoid = unary(
    "sigmoid",
    sigmoid_of,
    _sigmoid_rule,
    """The logistic function 1 / (1 + exp(-input)) of each element.

    >>> sigmoid(tensor([0.0, 2.0]))
    tensor([0.5000, 0.8808])
    """,
    functional=True,
)


@primitive(method=True, out=True, inplace=True)
def logit(input, /, eps=None):
    """log(input / (1 - input)), the inverse of `sigmoid`.

    Args:
        eps: the input is first limited to [eps, 1 - eps]; not without it, where nan is the result outside [0, 1].
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        TypeError: `input` is not a tensor, as in `logit(0.5)`.

    >>> logit(tensor([0.5, 1.0]))
    tensor([0., inf])
    """
    x = _float(input)
    one = x.dtype.type(1)
    if eps is not None:
        low = x.dtype.type(eps)
        x = np.minimum(np.maximum(x, low), one - low)
    return np.log(x / (one - x))  # rounded after each step, as torch does in 16 bits


def _float(a):
    return a.astype(dtypes.get_default_dtype().numpy) if a.dtype.kind in "biu" else a


@logit.vjp
def _(g, input, eps):
    r = g / (input * (1 - input))
    if eps is None:
        return where((input < 0) | (input > 1), float("nan"), r)
    return zero_where(r, (input < eps) | (input > 1 - eps))


# ---------------------------------------------------------------------------------------------- error functions

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
        if x.size <= 100:
            return np.array(list(map(math.erf, x.reshape(-1).tolist())), F32).reshape(x.shape)
        r = np.empty(x.shape, F32)
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
    size = np.asarray(np.abs(x))
    centre = np.minimum(size, 0.85)
    y = np.asarray(0.5 * x * _ratio(0.180625 - 0.25 * centre * centre, *_INVERSE[0]))
    tail = size > 0.85
    if tail.any():
        far = size[tail]
        inside = np.where(far < 1, far, 0.9)
        r = np.sqrt(-np.log(0.5 - 0.5 * inside))
        value = np.where(r <= 5, _ratio(r - 1.6, *_INVERSE[1]), _ratio(r - 5, *_INVERSE[2]))
        y[tail] = np.copysign(np.where(far < 1, value, np.where(far == 1, np.inf, np.nan)), x[tail])
    return y * _ROOT_HALF


def _ratio(x, numerator, denominator):
    return polynomial(x, numerator) / polynomial(x, denominator)


erf = unary(
    "erf",
    erf_of,
    lambda g, x: g * (_TWO_OVER_ROOT_PI * (-(x * x)).exp()),
    """The error function of each element: 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to it.

    >>> erf(tensor([0.0, 1.0]))
    tensor([0.0000, 0.8427])
    """,
    jit_min_elements=MANY,
)
erfc = unary(
    "erfc",
    erfc_of,
    lambda g, x: g * (-_TWO_OVER_ROOT_PI * (-(x * x)).exp()),
    """1 - erf(input) of each element, exact where that is near 0.

    >>> erfc(tensor([0.0, 3.0]))
    tensor([1.0000e+00, 2.2090e-05])
    """,
)
erfinv = unary(
    "erfinv",
    erfinv_of,
    lambda g, out: g * (1 / _TWO_OVER_ROOT_PI * (out * out).exp()),
    """The inverse of `erf`: infinite at -1 and 1, nan beyond.

    >>> erfinv(tensor([0.0, 0.5, 1.0]))
    tensor([0.0000, 0.4769,    inf])
    """,
)
_erfcx = unary(
    "special_erfcx", erfcx_of, lambda g, x, out: g * (2 * x * out - _TWO_OVER_ROOT_PI), """exp(input^2) * erfc(input) of each element, without overflow.

    >>> special.erfcx(tensor([0.0, 30.0]))
    tensor([1.0000, 0.0188])
    """,
    method=False, inplace=False,
)  # fmt: skip


@in_double
def _ndtr(x):
    return 0.5 * erfc_of(x * -_ROOT_HALF)


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
    method=False, inplace=False,
)  # fmt: skip
_log_ndtr_op = unary(
    "special_log_ndtr", _log_ndtr, lambda g, x: g / (_erfcx(x * -_ROOT_HALF) * math.sqrt(math.pi / 2)),
    """The logarithm of `ndtr`, exact in the lower tail.

    >>> special.log_ndtr(tensor([0.0, -40.0]))
    tensor([-6.9315e-01, -8.0461e+02])
    """, method=False, inplace=False,
)  # fmt: skip
_ndtri_op = unary(
    "special_ndtri", _ndtri, lambda g, out: g * (_ROOT_TWO_PI * (0.5 * out * out).exp()),
    """The inverse of `ndtr`: the quantile of the standard normal distribution; infinite at 0 and 1, nan beyond.

    >>> special.ndtri(tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """, method=False, inplace=False,
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- gamma functions

# Lanczos' approximation with g = 607/128 (Godfrey's coefficients)
_LANCZOS = (
    57.1562356658629235, -59.5979603554754912, 14.1360979747417471, -0.491913816097620199, 0.339946499848118887e-4,
    0.465236289270485756e-4, -0.983744753048795646e-4, 0.158088703224912494e-3, -0.210264441724104883e-3,
    0.217439618115212643e-3, -0.164318106536763890e-3, 0.844182239838527433e-4, -0.261908384015814087e-4,
    0.368991826595316234e-5,
)  # fmt: skip
_BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)


@in_double
def lgamma_of(x):
    """log(|gamma(x)|)."""
    reflect = x < 0.5
    z = np.where(reflect, 1 - x, x)
    series = np.full_like(z, 0.999999999999997092)
    for i, c in enumerate(_LANCZOS):
        series += c / (z + (i + 1))
    shifted = z + 5.2421875
    right = (z + 0.5) * np.log(shifted) - shifted + np.log(_ROOT_TWO_PI * series / z)
    right = np.where((z == 1) | (z == 2), 0.0, np.where(np.isinf(z), np.inf, right))
    sine = np.abs(np.sin(math.pi * (x - np.rint(x))))
    left = math.log(math.pi) - np.log(np.where((sine == 0) | (x == np.floor(x)), 0.0, sine)) - right
    return np.where(reflect, np.where(np.isinf(x), np.inf, left), right)


@in_double
def digamma_of(x):
    """The derivative of log gamma."""
    reflect = x < 0
    z = np.where(reflect, 1 - x, x)
    total = np.zeros_like(z)
    for _ in range(10):
        low = z < 10
        total = np.where(low, total - 1 / z, total)
        z = np.where(low, z + 1, z)
    inverse = 1 / (z * z)
    tail = np.zeros_like(z)
    for k in range(7, 0, -1):
        tail = (tail + _BERNOULLI[k - 1] / (2 * k)) * inverse
    right = total + np.log(z) - 0.5 / z - tail
    r = np.where(reflect, right - math.pi / np.tan(math.pi * (x - np.trunc(x))), right)
    pole = reflect & (x == np.trunc(x))
    return np.where(pole, np.nan, np.where(x == 0, np.copysign(np.inf, -x), r))


@in_double
def zeta_of(s, q):
    """Hurwitz' zeta function, sum over k >= 0 of (k + q)**-s, by the formula of Euler and Maclaurin."""
    s, q = np.broadcast_arrays(s, q)
    steps = 9 + max(0, math.ceil(9 - float(q[np.isfinite(q)].min())) if np.isfinite(q).any() else 0)
    total, a = np.zeros(q.shape), q.astype(F64)
    for _ in range(min(steps, 4000)):
        total = total + a**-s
        a = a + 1
    r = total + a ** (1 - s) / (s - 1) + 0.5 * a**-s
    factor, power = s.astype(F64), a ** (-s - 1)
    for k, b in enumerate(_BERNOULLI, 1):
        r = r + b / math.factorial(2 * k) * factor * power
        factor, power = factor * (s + 2 * k - 1) * (s + 2 * k), power / (a * a)
    pole = (q <= 0) & (q == np.floor(q))
    r = np.where(pole, np.inf, np.where((q <= 0) & ~pole & (s != np.floor(s)), np.nan, r))
    r = np.where(np.isposinf(q), 0.0, r)
    return np.where(s == 1, np.inf, np.where(s < 1, np.nan, r))


lgamma = unary(
    "lgamma",
    lgamma_of,
    lambda g, x: g * x.digamma(),
    """The logarithm of the absolute value of the gamma function of each element; infinite at 0, -1, -2, ...

    >>> lgamma(tensor([1.0, 4.0, 0.0]))
    tensor([0.0000, 1.7918,    inf])
    """,
)
digamma = unary(
    "digamma",
    digamma_of,
    lambda g, x: g * polygamma(1, x),
    """The derivative of `lgamma` of each element: gamma'(input) / gamma(input).

    >>> digamma(tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """,
)


def polygamma_of(x, n):
    if n == 0:
        return digamma_of(x)
    return _trigamma(x) if n == 1 else _from_zeta(x, n)


def _trigamma(x):
    """By reflection below 1/2. The sine of pi x is rounded as torch rounds it, so that the poles have its large numbers."""
    work = x.dtype.type if x.dtype.itemsize > 2 else np.float32
    sine = np.sin(work(math.pi) * x.astype(work)).astype(F64)
    x, d = x.astype(F64), x.dtype
    reflect = x < 0.5
    z = np.where(reflect, 1 - x, x)
    right = zeta_of(np.full(z.shape, 2.0), z)
    return np.where(reflect, (math.pi / sine) ** 2 - right, right).astype(d)


@in_double
def _from_zeta(x, n):
    sign = 1 if n % 2 else -1
    return sign * math.gamma(n + 1.0) * zeta_of(np.full(x.shape, n + 1.0), x)


@primitive(public=False, name="polygamma")
def _polygamma(input, /, n):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return polygamma_of(_float(input), n)


@_polygamma.vjp
def _(g, input, n):
    return g * _polygamma(input, n + 1)


def polygamma(n, input, *, out=None):
    """The n-th derivative of `digamma` at each element.

    Args:
        n: an int, not negative.
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `n` is negative, as in `polygamma(-1, ones(2))`.

    >>> polygamma(1, tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    if not isinstance(n, int):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    result = _polygamma(input, n)
    return result if out is None else write_out("polygamma", (input,), result, out)


publish("polygamma", polygamma, False, False, ())
Tensor.polygamma = lambda self, n: _polygamma(self, n)
Tensor.polygamma_ = lambda self, n: write(_polygamma.record, self, (), (n,))


def mvlgamma(input, p, *, out=None):
    """The logarithm of the multivariate gamma function of dimension `p` of each element.

    Args:
        out: the tensor to write the result to.
    Shape: (*) -> (*)
    Raises:
        RuntimeError: `p` is not positive, as in `mvlgamma(ones(2), 0)`.

    >>> mvlgamma(tensor([3.0]), 2)
    tensor([1.5502])
    """
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    x = input if input.dtype.category >= 2 else input.to(dtypes.get_default_dtype())
    total = sum((lgamma(x - 0.5 * j) for j in range(1, p)), lgamma(x))
    result = (total + 0.25 * p * (p - 1) * math.log(math.pi)).contiguous()
    return result if out is None else write_out("mvlgamma", (input,), result, out)


publish("mvlgamma", mvlgamma, True, False, ())
Tensor.mvlgamma_ = lambda self, p: self.copy_(mvlgamma(self.clone(), p))

_zeta = binary(
    "special_zeta", zeta_of, None, lambda g, x, y: g * -x * _zeta(x + 1, y), """The Hurwitz zeta function: the sum over k = 0, 1, ... of 1 / (k + other)^input; Riemann's for other = 1.

    >>> special.zeta(tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """, promote="float",
    method=False, inplace=False, node="SpecialZetaBackward0",
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- Bessel functions


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


@in_double
def i0_of(x):
    return i0e_of(x) * np.exp(np.abs(x))


@in_double
def i1_of(x):
    return i1e_of(x) * np.exp(np.abs(x))


def _over(bessel, x):
    """I1(x) / x, which is 1/2 at 0."""
    zero = x == 0
    return where(zero, 0.5, bessel / x.masked_fill(zero, 1))


_PLAIN: dict[str, Any] = {"method": False, "inplace": False}
i0 = unary(
    "i0",
    i0_of,
    lambda g, x: g * _i1(x),
    """The modified Bessel function of the first kind of order 0 of each element.

    >>> i0(tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """,
)
_i0e = unary(
    "special_i0e",
    i0e_of,
    lambda g, x, out: g * (_i1e(x) - x.sgn() * out),
    """`i0` of each element times exp(-|input|).

    >>> special.i0e(tensor([0.0, 100.0]))
    tensor([1.0000, 0.0399])
    """,
    **_PLAIN,
)
_i1 = unary(
    "special_i1", i1_of, lambda g, x, out: g * (i0(x) - _over(out, x)),
    """The modified Bessel function of the first kind of order 1 of each element.

    >>> special.i1(tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """, **_PLAIN,
)  # fmt: skip
_i1e = unary(
    "special_i1e", i1e_of, lambda g, x, out: g * (_i0e(x) - out * x.sgn() - _over(out, x)),
    """`i1` of each element times exp(-|input|).

    >>> special.i1e(tensor([0.0, 100.0]))
    tensor([0.0000, 0.0397])
    """, **_PLAIN,
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- products with logarithms


def _times_log(word, log):
    def kernel(x, y):  # 16-bit floats round the logarithm too, as in torch
        kind = np.asarray(x).dtype
        if kind.kind == "c":
            raise not_implemented(word, kind)
        y = y if isinstance(y, np.ndarray) else x.dtype.type(y)
        r = x * log(y)
        return np.where(np.asarray(x == 0) & ~np.isnan(y), r.dtype.type(0), r)

    return kernel


def _filled(value, like):
    """A number for the second operand, as a tensor."""
    return value if isinstance(value, Tensor) else like.new_tensor(value)


def _xlogy_slope(g, x, y):
    y = _filled(y, g)
    return (g * y.log()).masked_fill((x == 0) & (y <= 0), 0)


def _xlog1py_slope(g, x, y):
    y = _filled(y, g)
    return (g * y.log1p()).masked_fill((x == 0) & (y <= -1), 0)


xlogy = binary(
    "xlogy", _times_log("xlogy_cpu", np.log), _xlogy_slope, lambda g, x, y: g * x / y,
    """input * log(other), and 0 where the input is 0 and the other no nan.

    >>> xlogy(tensor([0.0, 2.0]), tensor([0.0, 2.0]))
    tensor([0.0000, 1.3863])
    """, promote="float", aliases=(),
)  # fmt: skip
_xlog1py = binary(
    "special_xlog1py", _times_log("xlog1py_cpu", np.log1p), _xlog1py_slope,
    lambda g, x, y: g * x / (y + 1), """input * log(1 + other), and 0 where the input is 0 and the other no nan.

    >>> special.xlog1py(tensor([0.0, 2.0]), tensor([-1.0, 1.0]))
    tensor([0.0000, 1.3863])
    """, promote="float", method=False, inplace=False,
)  # fmt: skip


@widened
def _entropy(x):
    r = -x * np.log(np.where(x > 0, x, 1))
    return np.where(x > 0, r, np.where(x == 0, 0, np.where(np.isnan(x), x, -np.inf))).astype(x.dtype)


_entr = unary(
    "special_entr", _entropy, lambda g, x: g * where(x >= 0, -x.log() - 1, float("nan")),
    """The entropy term -input * log(input) of each element; 0 at 0, -inf below.

    >>> special.entr(tensor([0.5, 0.0, -1.0]))
    tensor([0.3466, 0.0000,   -inf])
    """, **_PLAIN,
)  # fmt: skip


@widened
def _sinc(x):
    t = np.multiply(x, math.pi)
    return np.where(x == 0, t.dtype.type(1), np.sin(t) / t)


def _sinc_rule(g, x):
    t = x * math.pi
    slope = math.pi * (t * t.cos() - t.sin()) / (t * t)
    return g * conjugate(where(x == 0, 0.0, slope))


sinc = unary(
    "sinc",
    _sinc,
    _sinc_rule,
    """sin(pi * input) / (pi * input) of each element, and 1 at 0.

    >>> sinc(tensor([0.0, 0.5, 1.0]))
    tensor([ 1.0000e+00,  6.3662e-01, -2.7828e-08])
    """,
)


_SPECIAL_NAMES = {
    "erf": erf, "erfc": erfc, "erfinv": erfinv, "erfcx": _erfcx, "ndtr": _ndtr_op, "log_ndtr": _log_ndtr_op,
    "ndtri": _ndtri_op, "gammaln": lgamma, "digamma": digamma, "psi": digamma, "polygamma": polygamma,
    "multigammaln": mvlgamma, "zeta": _zeta, "i0": i0, "i0e": _i0e, "i1": _i1, "i1e": _i1e, "xlogy": xlogy,
    "xlog1py": _xlog1py, "entr": _entr, "sinc": sinc, "expit": sigmoid, "logit": logit, "exp2": exp2, "expm1": expm1,
    "log1p": log1p, "round": round,
}  # fmt: skip
for _name, _function in _SPECIAL_NAMES.items():
    OPS["special." + _name] = _function
