"""Gamma functions: lgamma, digamma, polygamma, mvlgamma, and the zeta function of Hurwitz, in float64 and rounded."""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.errors import type_error
from ...core.dispatch.inplace import write
from ...core.dispatch.op import binary, composite, primitive, unary
from ...core.dispatch.scalars import python_number
from ...core.dispatch.slow_path import write_out
from ...core.tensor import dtype as dtypes
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import type_word
from ..pointwise.building_blocks import (
    COMPUTE_BOUND,
    DEAR,
    F32,
    F64,
    SOME,
    in_memory_order,
    in_order_of,
    in_shared_order,
)
from .series import as_float, in_double, polynomial

# Lanczos' approximation with 13 terms, their sum as a ratio of polynomials in 1 / z: the numbers of Boost's lanczos13m53
_G = 6.024680040776729583740234375
_ABOVE = (
    2.5066282746310002701649081771338, 210.82427775157934587250973392071, 8071.6720023658162106380029022723,
    186056.26539522349504029498971605, 2876370.6289353724412254090516208, 31426415.585400194380614231628318,
    248874557.86205415651146038641323, 1439720407.3117216736632230727950, 6039542586.3520280050642916443073,
    17921034426.037209699919755754459, 35711959237.355668049440185451547, 42919803642.649098768957899047002,
    23531376880.410759688572007674452,
)  # fmt: skip
_BELOW = (
    1.0, 66.0, 1925.0, 32670.0, 357423.0, 2637558.0, 13339535.0, 45995730.0, 105258076.0, 150917976.0, 120543840.0,
    39916800.0,
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
    t = 1 / z  # z itself to the 12th power is beyond float64 where z is large
    right = np.log(polynomial(t, _ABOVE) / polynomial(t, _BELOW)) - _G + (z - 0.5) * (np.log(z + (_G - 0.5)) - 1)
    right = np.where((z == 1) | (z == 2), 0.0, right)
    sine = np.abs(np.sin(math.pi * (x - np.rint(x))))
    left = math.log(math.pi) - np.log(np.where((sine == 0) | (x == np.floor(x)), 0.0, sine)) - right
    return np.where(reflect, np.where(np.isinf(x), np.inf, left), right)


@in_double
def digamma_of(x):
    """The derivative of log gamma: from ten steps above, where its series is short; 1 / z + ... + 1 / (z + 9) in five pairs."""
    reflect = x < 0
    z = np.where(reflect, 1 - x, x)
    low = np.where(z < 10, z, 1)
    product = low * (low + 9)
    total = 1 / product
    for k in range(1, 5):
        total = total + 1 / (product + k * (9 - k))
    total = np.where(z < 10, (2 * low + 9) * total, 0)
    z = np.where(z < 10, z + 10, z)
    inverse = 1 / (z * z)
    tail = 0.0
    for k in range(7, 0, -1):
        tail = (tail + _BERNOULLI[k - 1] / (2 * k)) * inverse
    right = np.log(z) - 0.5 / z - tail - total
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


@in_memory_order
def _lgamma(x):
    """Of few numbers by C's library, which gives float32's rounding of the same in a third of the time."""
    if x.dtype is F32 and x.size <= 100:
        try:
            return np.array(list(map(math.lgamma, x.reshape(-1).tolist())), F32).reshape(x.shape)
        except (ValueError, OverflowError):  # at a pole, and for numbers whose logarithm float64 lacks
            pass
    return lgamma_of(x)


lgamma = unary(
    "lgamma",
    _lgamma,
    lambda g, x: g * x.digamma(),
    """The logarithm of the absolute value of the gamma function of each element; infinite at 0, -1, -2, ...

    >>> lgamma(tensor([1.0, 4.0, 0.0]))
    tensor([0.0000, 1.7918,    inf])
    """,
    jit_min_elements=SOME,
    jit_warmup=DEAR,
)
digamma = unary(
    "digamma",
    digamma_of,
    lambda g, x: g * polygamma(1, x),
    """The derivative of `lgamma` of each element: gamma'(input) / gamma(input).

    >>> digamma(tensor([1.0, 2.0]))
    tensor([-0.5772,  0.4228])
    """,
    **COMPUTE_BOUND,
)


def polygamma_of(x, n):
    if n == 0:
        return digamma_of(x)
    return _trigamma(x) if n == 1 else _from_zeta(x, n)


def _trigamma(x):
    """By six steps up and torch's short series, in torch's precision; by reflection below 1/2."""
    d = x.dtype
    one = F32.type if d.itemsize < 8 else F64.type
    x, pi = x.astype(one, copy=False), one(math.pi)
    reflect = x < 0.5
    sine = np.sin(pi * x)
    z = np.where(reflect, 1 - x, x)
    total = np.where(reflect, -(pi * pi) / (sine * sine), one(0))
    for _ in range(6):
        total = total + 1 / (z * z)
        z = z + 1
    inverse = 1 / (z * z)
    tail = one(1 / 6) - inverse * (one(1 / 30) - inverse * one(1 / 42))
    total = total + (1 + 1 / (2 * z) + inverse * tail) / z
    return np.where(reflect, -total, total).astype(d, copy=False)


@in_shared_order
def _torchs_zeta(s, q):
    """`zeta_of` with torch's NaN, instead of the limit 0, at an infinite `q`."""
    d = s.dtype if isinstance(s, np.ndarray) else q.dtype
    s, q = np.broadcast_arrays(np.asarray(s, d), np.asarray(q, d))
    out = np.where((q == np.inf) & (s != 1), q.dtype.type(np.nan), zeta_of(s, q))
    at_infinity = s == np.inf
    if at_infinity.any():  # the first term alone: torch's next ones are nan
        first = np.power(q, -s)
        out = np.where(at_infinity & (first >= 1), first, out)
    return out


@in_double
def _from_zeta(x, n):
    sign = 1 if n % 2 else -1
    return sign * math.gamma(n + 1.0) * _torchs_zeta(np.full(x.shape, n + 1.0), x)


@primitive(public=False, name="polygamma", **COMPUTE_BOUND)
def _polygamma(input, /, n):
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    return in_order_of(polygamma_of(as_float(input), n), input)


@_polygamma.vjp
def _(g, input, n):
    return g * _polygamma(input, n + 1)


@composite()
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
    n = python_number(n)
    if not isinstance(n, int):
        raise type_error(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    result = _polygamma(input, n)
    return result if out is None else write_out("polygamma", (input,), result, out)


@composite(name="polygamma", method=True, function=False)
def _polygamma_method(self, n):
    """The n-th derivative of `digamma` at each element."""
    return _polygamma(self, n)


@composite(method=True, function=False)
def polygamma_(self, n):
    """In-place form of `polygamma`."""
    return write(_polygamma.record, self, (), (n,))


@composite(method=True)
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
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The input tensor may not be a boolean tensor.")
    x = input if input.dtype.category >= 2 else input.to(dtypes.get_default_dtype())
    total = sum((lgamma(x - 0.5 * j) for j in range(1, p)), lgamma(x))
    result = shown_as((total + 0.25 * p * (p - 1) * math.log(math.pi)).contiguous(), "MvlgammaBackward0")
    return result if out is None else write_out("mvlgamma", (input,), result, out)


@composite(method=True, function=False)
def mvlgamma_(self, p):
    """In-place form of `mvlgamma`."""
    result = mvlgamma(self.clone(), p)
    if self.dtype.category < 2:
        words = [type_word(t.dtype) for t in (self, result)]
        raise RuntimeError(f"mvlgamma: result type {words[0]} can't be cast to the desired output type {words[1]}")
    return self.copy_(result)


_zeta = binary(
    "special_zeta", _torchs_zeta, None, lambda g, x, y: g * -x * _zeta(x + 1, y), """The Hurwitz zeta function: the sum over k = 0, 1, ... of 1 / (k + other)^input; Riemann's for other = 1.

    >>> special.zeta(tensor([2.0, 4.0]), 1)
    tensor([1.6449, 1.0823])
    """, promote="float",
    method=False, inplace=False, node="SpecialZetaBackward0", number_nodes=("SpecialZetaBackward2", "SpecialZetaBackward1"),
)  # fmt: skip
