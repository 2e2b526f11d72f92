"""The von Mises distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rushlight import ops
from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor import dtype as dtypes

from . import constraints
from .distribution import Distribution
from .utils import SCALAR, broadcast_all, lazy_property

if TYPE_CHECKING:
    from rushlight.core.tensor.tensor import Tensor


__all__ = ["VonMises"]

# Abramowitz and Stegun 9.8.1 - 9.8.4: I0 and I1 / x in (x / 3.75)**2, and sqrt(x) exp(-x) times both in 3.75 / x
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1, 0.2635537e-1, -0.1647633e-1,
     0.392377e-2),
    (0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1, -0.2895312e-1, 0.1787654e-1,
     -0.420059e-2),
)  # fmt: skip


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Any:
    result = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        result = c + x * result
    return result


def _log_modified_bessel_fn(x, order=0):
    """log I_order(x) for x > 0 and order 0 or 1; AssertionError for another one."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    ratio = x / 3.75
    small = _polynomial(ratio * ratio, _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return ops.where(x < 3.75, small.log(), large)


class VonMises(Distribution):
    """Angles around `loc`: p(x) = exp(concentration cos(x - loc)) / (2 pi I0(concentration)).

    Draws are in [-pi, pi), and computed in double precision, by rejection: D. J. Best and N. I. Fisher, "Efficient
    simulation of the von Mises distribution" (1979). `variance` is the circular one.

    Shape: loc (*), concentration (*) -> batch (*), broadcast, events ()
    Raises:
        ValueError: `concentration` is not positive, as in `VonMises(tensor([0.0]), tensor([-1.0]))`.

    >>> VonMises(tensor([1.0]), tensor([2.0])).mean
    tensor([1.])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _batched = ("loc", "concentration")

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        ratio = _log_modified_bessel_fn(self.concentration, order=1) - _log_modified_bessel_fn(self.concentration)
        return 1 - ratio.exp()

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        aligned = self.concentration * (value - self.loc).cos()
        return aligned - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration)

    @lazy_property
    def _loc(self):
        return self.loc.to(dtypes.float64)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(dtypes.float64)

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that draws are proposed from."""
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return ops.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @no_grad()
    def sample(self, sample_shape=SCALAR):
        shape, r, kappa = self._extended_shape(sample_shape), self._proposal_r, self._concentration
        x = ops.empty(shape, dtype=dtypes.float64, device=self.loc.device)
        done = ops.zeros(shape, dtype=dtypes.bool_, device=self.loc.device)
        while not done.all():
            u1, u2, u3 = ops.rand((3,) + tuple(shape), dtype=dtypes.float64, device=self.loc.device).unbind()
            z = (math.pi * u1).cos()
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = (c * (2 - c) - u2 > 0) | ((c / u2).log() + 1 - c >= 0)
            x = ops.where(accept, (u3 - 0.5).sign() * f.acos(), x)  # again where there is one already, as in torch
            done = done | accept
        return ((x + math.pi + self._loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
