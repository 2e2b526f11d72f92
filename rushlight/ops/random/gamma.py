"""Gamma and Dirichlet samples, and how they move with their parameters.

A sample of Gamma(a) or Beta(a, b) is not a function of noise in closed form. Its derivative at a fixed quantile is

    dx/da = -(d/da cdf(x; a)) / pdf(x; a),

and has a closed form in no region either: it is expanded for small x, by Rice's saddle point for large parameters, and
read off a fitted rational function between. Source: M. Jankowiak and F. Obermeyer, "Pathwise derivatives beyond the
reparameterization trick" (2018), whose fits are those of torch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core import random as streams
from ...core.dispatch.op import composite, primitive


@primitive(name="standard_gamma", public=False, node="StandardGammaBackward0", draws="data")
def _draw_gamma(input, /, generator):
    return streams.standard_gamma(generator, input)


@_draw_gamma.vjp
def _(g, input, out):
    return g * _standard_gamma_grad(input, out)


@composite(name="_standard_gamma")
def _standard_gamma(input, generator=None):
    """Gamma numbers of rate 1 with the concentrations `input`; the gradient is that of the sample at its quantile."""
    return _draw_gamma(input, generator)


@primitive(name="_standard_gamma_grad")
def _standard_gamma_grad(input, output, /):
    """d output / d input for samples `output` of Gamma(input)."""
    return _by_region(_GAMMA_REGIONS, np.float64, output, input)


@_standard_gamma_grad.vjp
def _(g):
    raise NotImplementedError("the derivative for '_standard_gamma_grad' is not implemented.")


@primitive(name="sample_dirichlet", public=False, node="_DirichletBackward", draws="data")
def _draw_dirichlet(input, /, generator):
    return streams.dirichlet(generator, input)


@_draw_dirichlet.vjp
def _(g, out, input):
    slope = _dirichlet_grad(out, input, input.sum(-1, True).expand_as(input))
    return slope * (g - (out * g).sum(-1, True))  # one share moves as a Beta number does, the others make room


@composite(name="_sample_dirichlet")
def _sample_dirichlet(input, generator=None):
    """Points of the simplex along the last dimension with the concentrations `input`; the gradient is at the quantile."""
    return _draw_dirichlet(input, generator)


@primitive(name="_dirichlet_grad")
def _dirichlet_grad(x, alpha, total, /):
    """dx/d alpha / (1 - x) for samples x of Beta(alpha, total - alpha)."""
    return _by_region(_BETA_REGIONS, x.dtype, x, alpha, total)


@_dirichlet_grad.vjp
def _(g):
    raise NotImplementedError("the derivative for '_dirichlet_grad' is not implemented.")


def _by_region(regions: list[tuple[Callable, Callable]], work: type | np.dtype, *arrays: np.ndarray) -> np.ndarray:
    """Each element by the first region that holds it: pairs of a condition and a function of flat arrays."""
    kind, shape = arrays[0].dtype, arrays[0].shape
    flat = [np.broadcast_to(a, shape).astype(work).ravel() for a in arrays]
    out, left = np.empty(flat[0].size, kind), np.arange(flat[0].size)
    for holds, derivative in regions:
        here = holds(*flat)
        out[left[here]] = derivative(*(a[here] for a in flat))
        flat, left = [a[~here] for a in flat], left[~here]
    return out.reshape(shape)


# ---------------------------------------------------------------------------------------------- gamma


def _gamma_series(x, a):
    """The series of the incomplete gamma function and its derivative by a, up to x**5."""
    term, values, slopes = np.ones_like(x), 1 / a, 1 / (a * a)
    for i in range(1, 6):
        term = term * (-x / i)
        values = values + term / (a + i)
        slopes = slopes + term / (a + i) ** 2
    power = x**a
    moved = (np.log(x) - _digamma(a)) * (power * values) - power * slopes
    return _zero_for_nan(-moved / (x ** (a - 1) * np.exp(-x)))


def _gamma_centre(x, a):
    """Rice's expansion where x is within a tenth of a, in which the poles at x = a cancel."""
    outer = 1 + 24 * a * (1 + 12 * a)
    inner = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x)
    return outer * inner / (1244160 * a**4)


def _gamma_saddle(x, a):
    ratio, root = np.log(x / a), np.sqrt(8 * a)
    deviation = (x - a - a * ratio) ** -1.5
    slope = root / (a - x) + np.where(x < a, -deviation, deviation)
    bracket = ratio * slope - np.sqrt(2 / a) * (a + x) / (a - x) ** 2
    stirling = 1 + (1 + 1 / (24 * a)) / (12 * a)
    return -stirling * x * bracket / root


_GAMMA_FIT = np.array([
    [[0.16009398, -0.094634809, 0.025146376, -0.0030648343], [1, 0.32668115, 0.10406089, 0.0014179084]],
    [[0.53487893, 0.1298071, 0.065735949, -0.0015649758], [0.16639465, 0.020070113, -0.0035938915, -0.00058392623]],
    [[0.040121004, -0.0065914022, -0.0026286047, -0.0013441777], [0.017050642, -0.0021309326, 0.00085092367, -1.5247877e-07]],
])  # fmt: skip
"""Power of log(x / a), numerator or denominator, power of log(a)."""


def _gamma_fitted(x, a):
    above, below = np.einsum("ukv,un,vn->kn", _GAMMA_FIT, _powers(np.log(x / a), 3), _powers(np.log(a), 4))
    return np.exp(above / below)


_GAMMA_REGIONS = [
    (lambda x, a: x < np.float32(0.8), _gamma_series),
    (lambda x, a: (a > 8) & (0.9 * a <= x) & (x <= 1.1 * a), _gamma_centre),
    (lambda x, a: a > 8, _gamma_saddle),
    (lambda x, a: np.full(x.shape, True), _gamma_fitted),
]


# ---------------------------------------------------------------------------------------------- beta


def _beta_near_zero(x, a, total):
    """Taylor's series around x = 0 of the derivative by the parameter at 0."""
    b = total - a
    factor = _digamma(a) - _digamma(a + b) - np.log(x)
    term, series = np.ones_like(x), 1 / a * (factor + 1 / a)
    for i in range(1, 11):
        term = term * ((i - b) * x / i)
        series = series + term / (a + i) * (factor + 1 / (a + i))
    return _zero_for_nan(x * (1 - x) ** -b * series)


def _beta_near_one(x, a, total):
    """The same point seen from the other end, where `a` is the parameter that x is far from."""
    y, near = 1 - x, total - a
    factor = _digamma(total) - _digamma(a)
    term, product, slope, series = np.ones_like(x), np.ones_like(x), np.zeros_like(x), factor / near
    for i in range(1, 9):
        term = term * (-y / i)
        slope = slope * (a - i) + product
        product = product * (a - i)
        series = series + term / (near + i) * (slope + factor * product)
    return _zero_for_nan((1 - y) ** (1 - a) * series)


def _beta_saddle(x, a, total):
    """Rice's saddle point; a polynomial within a tenth of a standard deviation of the mean, where its poles cancel."""
    x, a, total = (v.astype(np.float64) for v in (x, a, total))
    b = total - a
    mean, deviation = a / total, np.sqrt(a * b / (total + 1)) / total
    central = (mean - 0.1 * deviation <= x) & (x <= mean + 0.1 * deviation)
    return np.where(central, _beta_centre(x, a, b), _beta_flank(x, a, b))


def _beta_centre(x, a, b):
    total = a + b
    by_power = [
        47 * x * b**4,
        (43 + 20 * (16 + 27 * b) * x) * b**3,
        3 * (59 + 180 * b - 90 * x) * b**2,
        (453 + 1620 * b * (1 - x) - 455 * x) * b,
        8 * (1 - x) * (135 * b - 11),
    ]
    polynomial = sum(c * a**k for k, c in enumerate(by_power))
    scale = (1 + 12 * a) * (1 + 12 * b) / (total * total)
    return scale / (1 - x) * polynomial / (12960 * a**3 * b**2 * (1 + 12 * total))


def _beta_flank(x, a, b):
    total = a + b
    offset = a * (x - 1) + b * x
    first = (2 * a * a * (x - 1) + a * b * (x - 1) - x * b * b) / (np.sqrt(2 * a / b) * total**1.5 * offset**2)
    left = np.log(a / (total * x))
    depth = (b * np.log(b / (total * (1 - x))) + a * left) ** -1.5
    slope = np.sqrt(8 * a * b / total) / offset + np.where(offset < 0, depth, -depth)
    scale = -x / np.sqrt(2 * a * b / total)
    return _stirling(a) * _stirling(b) / _stirling(total) * scale * (first + 0.5 * left * slope)


def _stirling(a):
    return 1 + 1 / (12 * a) + 1 / (288 * a * a)


_BETA_FIT = np.array([
    [[[1.003668233, -0.01061107488, -0.0657888334, 0.01201642863],
      [0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033],
      [-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013]],
     [[0.221950385, -0.3187676331, 0.01799915743, 0.01074823814],
      [-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057],
      [0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05]],
     [[-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565],
      [0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181],
      [0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05]]],
    [[[1, -0.02924021934, -0.04438342661, 0.007285809825],
      [0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521],
      [-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149]],
     [[0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273],
      [0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956],
      [-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05]],
     [[0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05],
      [0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05],
      [-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06]]],
])  # fmt: skip
"""Numerator or denominator, power of log(x), power of log(a / x), power of log(total x / a)."""


def _beta_fitted(x, a, total):
    """A fitted rational function times the derivative of the uniform case."""
    slope = (_digamma(total) - _digamma(a)).astype(np.float64)
    x, a, total = (v.astype(np.float64) for v in (x, a, total))
    u = np.log(x)
    odds = np.log(a) - u
    rest = np.log(total) - odds
    above, below = np.einsum("kuav,un,an,vn->kn", _BETA_FIT, _powers(u, 3), _powers(odds, 3), _powers(rest, 4))
    return above / below * (x * slope / (total - a))


_BETA_REGIONS = [
    (lambda x, a, total: (x <= 0.5) & (total * x * (1 - x) < 2.5), _beta_near_zero),
    (lambda x, a, total: (x >= 0.5) & (total * x * (1 - x) < 0.75), _beta_near_one),
    (lambda x, a, total: (a > 6) & (total - a > 6), _beta_saddle),
    (lambda x, a, total: np.full(x.shape, True), _beta_fitted),
]


_ASYMPTOTIC = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)


def _digamma(x: np.ndarray) -> np.ndarray:
    """digamma of x > 0 as the samplers of torch round it: steps of x in its own type, sums in double."""
    kind, one, total = x.dtype, x.dtype.type(1), np.zeros(x.shape)
    while (low := x < 10).any():
        total = np.where(low, total - (one / x).astype(np.float64), total)
        x = np.where(low, x + one, x)
    z = 1.0 / (x * x).astype(np.float64)
    tail = z * np.polyval(_ASYMPTOTIC, z)
    return (total + np.log(x) - one / (x + x) - tail).astype(kind)


def _powers(x: np.ndarray, count: int) -> np.ndarray:
    return x ** np.arange(count)[:, None]


def _zero_for_nan(x: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(x), 0.0, x)
