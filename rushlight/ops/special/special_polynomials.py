"""Orthogonal polynomials by their recurrences, and the incomplete gamma functions.

torch has no gradient for the polynomials; neither has this file.
"""

from __future__ import annotations

import numpy as np

from ...core.dispatch.op import binary, composite
from ..pointwise.building_blocks import for_types, in_shared_order, of_arrays
from ..pointwise.checks import tensors_only
from .error_functions import erfc_of
from .gamma_functions import lgamma_of
from .series import in_double

# ---------------------------------------------------------------------------------------------- polynomials


def _polynomial(name, first, step, shifted=False):
    """The operator (x, n) -> p_n(x) with p_0 = 1, p_1 = first(x), p_{k+1} = step(k, x, p_k, p_{k-1}); 0 for n < 0."""

    @in_double
    def kernel(x, n):
        x, n = np.broadcast_arrays(x, np.where(np.isfinite(n), np.trunc(n), -1))
        x = 2 * x - 1 if shifted else x
        before, p = np.ones(x.shape), first(x)
        r = np.where(n == 1, p, np.where(n < 0, 0.0, 1.0))
        for k in range(1, int(n.max(initial=0))):
            before, p = p, step(k, x, p, before)
            r = np.where(n == k + 1, p, r)
        return np.where(np.isnan(x) & (n > 0), x, r)

    @in_shared_order
    def call(x, n):
        if isinstance(x, np.ndarray):
            return kernel(x, np.asarray(n, np.float64))
        return kernel(np.asarray(x, n.dtype), n)

    op = binary(
        "special_" + name, call, None, None, f"The polynomial {name} of degree `n` at `x`.", promote="float", method=False,
        inplace=False, differentiable=False, shown=("x", "n"),
    )  # fmt: skip
    composite(name="special." + name)(op)


def _chebyshev(k, x, p, before):
    return 2 * x * p - before


for _prefix, _moved in (("", False), ("shifted_", True)):
    _polynomial(_prefix + "chebyshev_polynomial_t", lambda x: x + 0.0, _chebyshev, _moved)
    _polynomial(_prefix + "chebyshev_polynomial_u", lambda x: 2 * x, _chebyshev, _moved)
    _polynomial(_prefix + "chebyshev_polynomial_v", lambda x: 2 * x - 1, _chebyshev, _moved)
    _polynomial(_prefix + "chebyshev_polynomial_w", lambda x: 2 * x + 1, _chebyshev, _moved)
_polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, before: 2 * x * p - 2 * k * before)
_polynomial("hermite_polynomial_he", lambda x: x + 0.0, lambda k, x, p, before: x * p - k * before)
_polynomial(
    "laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, before: ((2 * k + 1 - x) * p - k * before) / (k + 1)
)
_polynomial(
    "legendre_polynomial_p", lambda x: x + 0.0, lambda k, x, p, before: ((2 * k + 1) * x * p - k * before) / (k + 1)
)

# ---------------------------------------------------------------------------------------------- incomplete gamma functions

_STEPS_MAX = 4000  # enough below _LARGE: the series needs about 8.6 sqrt(a) terms
_LARGE = 1e5


def _lower_series(a, x, front):
    """P(a, x) by its power series, for x < a + 1."""
    term = 1 / a
    total, k = term.copy(), a.copy()
    for _ in range(_STEPS_MAX):
        k += 1
        term = term * x / k
        total += term
        if not (np.abs(term) > np.abs(total) * 1e-17).any():
            break
    return total * front


def _upper_fraction(a, x, front):
    """Q(a, x) by Lentz's continued fraction, for x >= a + 1."""
    tiny = 1e-300
    b = x + 1 - a
    c, d = np.full_like(b, 1 / tiny), 1 / b
    h = d.copy()
    for i in range(1, _STEPS_MAX):
        an = -i * (i - a)
        b = b + 2
        d = an * d + b
        d = 1 / np.where(np.abs(d) < tiny, tiny, d)
        c = b + an / c
        c = np.where(np.abs(c) < tiny, tiny, c)
        h = h * d * c
        if not (np.abs(d * c - 1) > 1e-16).any():
            break
    return h * front


# Taylor coefficients in eta of the first two functions of Temme's expansion
_TEMME = (
    (-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 1 / 25515, -571 / 261273600),
    (-1 / 540, -1 / 288, 1 / 378, -77 / 77760, 1 / 4860),
)


def _uniform(a, x, lower):
    """P or Q for large `a`. Source: Temme, The Asymptotic Expansion of the Incomplete Gamma Functions, 1979."""
    mu = (x - a) / a
    half = np.maximum(mu - np.log1p(mu), 0)  # eta**2 / 2
    eta = np.copysign(np.sqrt(2 * half), mu)
    side = -1 if lower else 1
    tail = erfc_of(side * eta * np.sqrt(a / 2)) / 2
    small = np.clip(eta, -0.2, 0.2)  # further out the exponential below is 0
    first, second = (np.polynomial.polynomial.polyval(small, c) for c in _TEMME)
    return tail + side * np.exp(-a * half) / np.sqrt(2 * np.pi * a) * (first + second / a)


def _incomplete(lower):
    @in_double
    def kernel(a, x):
        a, x = np.broadcast_arrays(a, x)
        usable = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
        large = usable & (a > _LARGE)
        usable &= ~large
        ua, ux = np.where(usable, a, 1.0), np.where(usable, x, 1.0)
        front = np.exp(ua * np.log(ux) - ux - lgamma_of(ua))
        low = ux < ua + 1
        p = _lower_series(ua, np.where(low, ux, 0.5), front)
        q = _upper_fraction(np.where(low, 1.0, ua), np.where(low, 3.0, ux), front)
        r = np.where(low, p, 1 - q) if lower else np.where(low, 1 - p, q)
        nothing, all_of_it = (0.0, 1.0) if lower else (1.0, 0.0)
        r = np.where(usable, r, np.nan)
        if large.any():
            r = np.where(large, _uniform(np.where(large, a, _LARGE), np.where(large, x, _LARGE), lower), r)
        r = np.where(np.isposinf(x), all_of_it, r)  # torch's order of tests: the last one here is its first
        r = np.where(np.isposinf(a), np.where(np.isposinf(x), np.nan, nothing), r)
        r = np.where(x == 0, nothing, r)
        r = np.where(a == 0, np.where(x > 0, all_of_it, np.nan), r)
        return np.where((x < 0) | (a < 0), np.nan, r)

    return of_arrays(in_shared_order(for_types("fV", "igamma_cpu", kernel)))


def _density(x, y):
    return ((x - 1) * y.log() - y - x.lgamma()).exp()


igamma = binary(
    "igamma", _incomplete(True), None, lambda g, x, y: g * _density(x, y),
    """The regularised lower incomplete gamma function P(a, x) of a = input at x = other; it grows from 0 to 1 with x.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `special.gammainc(ones(2), ones(3))`.
        NotImplementedError: the elements are integers, as in `special.gammainc(tensor([1]), tensor([1]))`.

    >>> special.gammainc(tensor([1.0]), tensor([2.0]))
    tensor([0.8647])
    """,
)  # fmt: skip
igammac = binary(
    "igammac", _incomplete(False), None, lambda g, x, y: -g * _density(x, y),
    """The regularised upper incomplete gamma function Q(a, x) = 1 - P(a, x) of a = input at x = other.

    Raises:
        RuntimeError: the shapes do not broadcast, as in `special.gammaincc(ones(2), ones(3))`.
        NotImplementedError: the elements are integers, as in `special.gammaincc(tensor([1]), tensor([1]))`.

    >>> special.gammaincc(tensor([1.0]), tensor([2.0]))
    tensor([0.1353])
    """,
)  # fmt: skip
tensors_only(igamma, 0, 1)
tensors_only(igammac, 0, 1)
composite(name="special.gammainc")(igamma)
composite(name="special.gammaincc")(igammac)
