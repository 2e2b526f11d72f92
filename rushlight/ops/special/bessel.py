"""Bessel functions J, Y, I and K of orders 0 and 1, and Airy's Ai, without gradients, as torch has them.

Near 0 a function is a Chebyshev series in x**2, with its logarithm and pole taken out; far away it is an amplitude and a
phase, or an exponential, times a series in 1/x (`bessel_tables.py`).
"""

from __future__ import annotations

import math

import numpy as np

from ...core.dispatch.op import composite, unary
from ..pointwise.building_blocks import COMPUTE_BOUND
from . import bessel_tables as tables
from .modified_bessel import i0_of, i1_of
from .series import chebyshev, in_double

_TWO_OVER_PI = 2 / math.pi
_TINY = 1e-323  # half of it is not 0


def _near(x, table):
    """A series for |x| <= 8."""
    return chebyshev(np.minimum(x * x, 64) / 32 - 1, table)


def _wave(x, order):
    """(J, Y) of the order for x >= 8."""
    x = np.maximum(x, 8)
    t = 128 / (x * x) - 1
    p, q = (tables.P0_FAR, tables.Q0_FAR) if order == 0 else (tables.P1_FAR, tables.Q1_FAR)
    p, q = chebyshev(t, p), chebyshev(t, q) / x
    c, s = np.cos(x), np.sin(x)
    c, s = c + s, s - c  # of x - pi/4, times the root of 2: x itself is exact, the difference would be rounded
    if order:
        c, s = s, -c
    size = np.sqrt(1 / (math.pi * x))
    return size * (p * c - q * s), size * (p * s + q * c)


@in_double
def bessel_j0(x):
    """The Bessel function of the first kind of order 0 of each element.

    Shape: (*) -> (*)

    >>> special.bessel_j0(tensor([0.0, 1.0]))
    tensor([1.0000, 0.7652])
    """
    a = np.abs(x)
    return np.where(a <= 8, _near(a, tables.J0_NEAR), _wave(a, 0)[0])


@in_double
def bessel_j1(x):
    """The Bessel function of the first kind of order 1 of each element.

    Shape: (*) -> (*)

    >>> special.bessel_j1(tensor([0.0, 1.0]))
    tensor([0.0000, 0.4401])
    """
    a = np.abs(x)
    far = _wave(a, 1)[0]
    return np.where(a <= 8, x * _near(a, tables.J1_NEAR), np.where(x < 0, -far, far))


def _second_kind(x, near, order):
    r = np.where(x <= 8, near, _wave(x, order)[1])
    return np.where(x == 0, -np.inf, np.where(x < 0, np.nan, r))


@in_double
def bessel_y0(x):
    """The Bessel function of the second kind of order 0 of each element; -inf at 0, nan below.

    Shape: (*) -> (*)

    >>> special.bessel_y0(tensor([0.0, 1.0]))
    tensor([  -inf, 0.0883])
    """
    low = np.clip(x, _TINY, 8)
    return _second_kind(x, _near(low, tables.Y0_NEAR) + _TWO_OVER_PI * np.log(low) * bessel_j0(low), 0)


@in_double
def bessel_y1(x):
    """The Bessel function of the second kind of order 1 of each element; -inf at 0, nan below.

    Shape: (*) -> (*)

    >>> special.bessel_y1(tensor([0.0, 1.0]))
    tensor([   -inf, -0.7812])
    """
    low = np.clip(x, _TINY, 8)
    near = low * _near(low, tables.Y1_NEAR) + _TWO_OVER_PI * (np.log(low) * bessel_j1(low) - 1 / low)
    return _second_kind(x, near, 1)


def _scaled_k(x, order):
    """exp(x) K(x) of the order."""
    low, high = np.clip(x, _TINY, 2), np.maximum(x, 2)
    t = low * low / 2 - 1
    if order == 0:
        near = chebyshev(t, tables.K0_NEAR) - np.log(low / 2) * i0_of(low)
    else:
        near = chebyshev(t, tables.K1_NEAR) / low + np.log(low / 2) * i1_of(low)
    far = chebyshev(4 / high - 1, tables.K0_FAR if order == 0 else tables.K1_FAR) / np.sqrt(high)
    r = np.where(x <= 2, near * np.exp(low), far)
    return np.where(x == 0, np.inf, np.where(x < 0, np.nan, np.where(np.isnan(x), x, r)))


@in_double
def scaled_modified_bessel_k0(x):
    """exp(input) times the modified Bessel function of the second kind of order 0.

    Shape: (*) -> (*)

    >>> special.scaled_modified_bessel_k0(tensor([0.0, 1.0]))
    tensor([   inf, 1.1445])
    """
    return _scaled_k(x, 0)


@in_double
def scaled_modified_bessel_k1(x):
    """exp(input) times the modified Bessel function of the second kind of order 1.

    Shape: (*) -> (*)

    >>> special.scaled_modified_bessel_k1(tensor([0.0, 1.0]))
    tensor([   inf, 1.6362])
    """
    return _scaled_k(x, 1)


@in_double
def modified_bessel_k0(x):
    """The modified Bessel function of the second kind of order 0 of each element; inf at 0, nan below.

    Shape: (*) -> (*)

    >>> special.modified_bessel_k0(tensor([0.0, 1.0]))
    tensor([   inf, 0.4210])
    """
    return _scaled_k(x, 0) * np.exp(-x)


@in_double
def modified_bessel_k1(x):
    """The modified Bessel function of the second kind of order 1 of each element; inf at 0, nan below.

    Shape: (*) -> (*)

    >>> special.modified_bessel_k1(tensor([0.0, 1.0]))
    tensor([   inf, 0.6019])
    """
    return _scaled_k(x, 1) * np.exp(-x)


def modified_bessel_i0(x):
    """The modified Bessel function of the first kind of order 0 of each element.

    Shape: (*) -> (*)

    >>> special.modified_bessel_i0(tensor([0.0, 1.0]))
    tensor([1.0000, 1.2661])
    """
    return i0_of(x)


def modified_bessel_i1(x):
    """The modified Bessel function of the first kind of order 1 of each element.

    Shape: (*) -> (*)

    >>> special.modified_bessel_i1(tensor([0.0, 1.0]))
    tensor([0.0000, 0.5652])
    """
    return i1_of(x)


@in_double
def spherical_bessel_j0(x):
    """sin(input) / input of each element, and 1 at 0.

    Shape: (*) -> (*)

    >>> special.spherical_bessel_j0(tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """
    return np.where(np.isinf(x), 0.0, np.where(x == 0, 1.0, np.sin(x) / np.where(x == 0, 1.0, x)))


@in_double
def airy_ai(x):
    """Airy's function Ai of each element; nan at both infinities, as in torch.

    It is good to 1e-14. torch's is off by up to 3e-6 between -4 and -2.09.

    Shape: (*) -> (*)

    >>> special.airy_ai(tensor([0.0, 1.0]))
    tensor([0.3550, 0.1353])
    """
    right = np.maximum(x, 2)
    z = 2 / 3 * right * np.sqrt(right)
    decay = chebyshev(8 * math.sqrt(2) / 3 / z - 1, tables.AI_RIGHT) * np.exp(-z) / np.sqrt(np.sqrt(right)) / 2
    left = np.maximum(-x, 4)
    z = 2 / 3 * left * np.sqrt(left)
    t = 512 / 9 / (z * z) - 1
    c, s = np.cos(z - math.pi / 4), np.sin(z - math.pi / 4)
    wave = (chebyshev(t, tables.AI_P_LEFT) * c + chebyshev(t, tables.AI_Q_LEFT) / z * s) / np.sqrt(np.sqrt(left))
    near = chebyshev((np.clip(x, -4, 2) + 1) / 3, tables.AI_NEAR)
    r = np.where(x > 2, decay / math.sqrt(math.pi), np.where(x < -4, wave / math.sqrt(math.pi), near))
    return np.where(np.isinf(x), np.nan, np.where(x > 103.892, 0, r))


# torch calls their argument x, that of the others input
_OF_X = (airy_ai, scaled_modified_bessel_k0, scaled_modified_bessel_k1, spherical_bessel_j0)
for _kernel in (
    airy_ai, bessel_j0, bessel_j1, bessel_y0, bessel_y1, modified_bessel_i0, modified_bessel_i1, modified_bessel_k0,
    modified_bessel_k1, scaled_modified_bessel_k0, scaled_modified_bessel_k1, spherical_bessel_j0,
):  # fmt: skip
    composite(name="special." + _kernel.__name__)(
        unary(
            "special_" + _kernel.__name__, _kernel, None, _kernel.__doc__ or "", method=False, inplace=False,
            differentiable=False, shown=("x",) if _kernel in _OF_X else ("input",), **COMPUTE_BOUND,
        )
    )  # fmt: skip
